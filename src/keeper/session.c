#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "keeper.h"
#include "record.h"
#include "result.h"
#include "task.h"

/* An interpreter that has not locked itself down by then never will. */
#define START_PATIENCE_US (30 * 1000000ull)
/* Between the caller's interrupt and the kill. */
#define INTERRUPT_GRACE_US (2 * 1000000ull)
/* How much may wait for a door that does not read. */
#define DOOR_BACKLOG (1024 * 1024)

static void on_door(void *owner, uint32_t events);
static void finish(struct session *s);

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
make_id(char *out, size_t size)
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = now_us();
	snprintf(out, size, "%016llx", (unsigned long long)noise);
}

struct session *
session_new(struct keeper *k, int door_fd)
{
	struct session *s = calloc(1, sizeof(*s));
	struct remit_error err;

	if (!s) {
		close(door_fd);
		return NULL;
	}
	*s = (struct session){
		.keeper = k,
		.door = LINK_INIT,
		.code = BUF_INIT(64 * 1024 * 1024),
		.input = FEED_INIT,
		.out = { .fd = -1 },
		.err = { .fd = -1 },
		.jail = JAIL_INIT,
		.timer = -1,
		.on_door = SOURCE_INIT,
		.on_channel = SOURCE_INIT,
		.on_lifeline = SOURCE_INIT,
		.on_in = SOURCE_INIT,
		.on_out = SOURCE_INIT,
		.on_err = SOURCE_INIT,
		.on_init = SOURCE_INIT,
		.on_timer = SOURCE_INIT,
	};
	make_id(s->id, sizeof(s->id));
	link_open(&s->door, door_fd, PARTY_DOOR);
	if (policy_init(&s->policy) < 0 ||
	    loop_add(&k->loop, &s->on_door, door_fd, EPOLLIN, on_door, s,
		     &err) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

static void
unwatch_jail(struct session *s)
{
	struct source *all[] = {
		&s->on_channel, &s->on_lifeline, &s->on_in,    &s->on_out,
		&s->on_err,	&s->on_init,	 &s->on_timer,
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		loop_remove(&s->keeper->loop, all[i]);
}

void
session_free(struct session *s)
{
	unwatch_jail(s);
	loop_remove(&s->keeper->loop, &s->on_door);
	jail_free(&s->jail);
	own_fd_close(&s->timer);
	link_free(&s->door);
	claim_free(&s->claim);
	plan_free(&s->plan);
	interpreter_free(&s->interpreter);
	policy_free(&s->policy);
	list_free(&s->argv);
	buf_free(&s->code);
	feed_free(&s->input);
	free(s->name);
	free(s);
}

/* ---- endings ---- */

static void
die(struct session *s)
{
	if (s->state >= SESSION_DYING)
		return;
	if (!s->ended_us)
		s->ended_us = now_us();
	if (!s->jail.init_pid) {
		finish(s);
		return;
	}
	s->state = SESSION_DYING;
	loop_remove(&s->keeper->loop, &s->on_timer);
	/* Pid 1 will not live to tell. */
	if (!s->facts.has_wait_status)
		jail_sample(&s->jail, &s->exit);
	jail_kill(&s->jail);
}

/* Something of ours went wrong: the error is the result. */
static void
give_up(struct session *s, const struct remit_error *err)
{
	if (!s->failed) {
		s->error = *err;
		s->failed = true;
	}
	die(s);
}

static void
set_timer(struct session *s)
{
	uint64_t at = s->deadline_us;
	struct itimerspec t = { 0 };

	if (s->cpu_check_us && (!at || s->cpu_check_us < at))
		at = s->cpu_check_us;
	t.it_value.tv_sec = (time_t)(at / 1000000);
	t.it_value.tv_nsec = (long)(at % 1000000) * 1000;
	if (s->timer >= 0)
		timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static uint64_t
cpu_used_us(struct session *s)
{
	struct exit_report now = { 0 };
	struct cgroup_usage g;

	cgroup_read(&s->jail.group, &g);
	if (g.has_cpu)
		return g.cpu_us;
	jail_sample(&s->jail, &now);
	return now.cpu_us;
}

/* Processor time cannot be used up faster than by all processors at once:
   that is when to look again. */
static void
schedule_cpu_check(struct session *s)
{
	uint64_t limit = s->facts.cpu_limit_ms * 1000;
	uint64_t used = cpu_used_us(s), cpus = s->plan.limits.cpus;
	uint64_t left;

	if (!limit)
		return;
	if (used >= limit) {
		s->facts.over_cpu = true;
		die(s);
		return;
	}
	left = (limit - used) / (cpus ? cpus : 1);
	s->cpu_check_us = now_us() + (left > 2000 ? left : 2000);
	set_timer(s);
}

static void
on_timer(void *owner, uint32_t events)
{
	struct session *s = owner;
	uint64_t times, now = now_us();
	struct remit_error err;

	(void)events;
	if (read(s->timer, &times, sizeof(times)) < 0 && errno == EAGAIN)
		return;
	if (s->deadline_us && now >= s->deadline_us) {
		if (s->state == SESSION_LOCKING) {
			fail(&err, REMIT_E_INTERNAL,
			     "the interpreter did not start within %llu s",
			     START_PATIENCE_US / 1000000);
			give_up(s, &err);
			return;
		}
		s->facts.timed_out = !s->facts.interrupted;
		die(s);
		return;
	}
	if (s->cpu_check_us && now >= s->cpu_check_us)
		schedule_cpu_check(s);
}

/* ---- the door ---- */

static void
flush_door(struct session *s)
{
	struct remit_error err;
	uint32_t events = s->state == SESSION_DONE ? 0 : EPOLLIN;

	if (s->door_gone)
		return;
	if (link_flush(&s->door, &err) < 0)
		s->door_gone = true;
	if (link_wants_write(&s->door))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->on_door, events);
	/* A door that does not read stops the program's output, and thereby
	   the program, but not its clock. */
	events = s->door.out.len > DOOR_BACKLOG ? 0 : EPOLLIN;
	loop_want(&s->keeper->loop, &s->on_out, events);
	loop_want(&s->keeper->loop, &s->on_err, events);
}

static int
take_job(struct session *s, const struct frame *f, struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		if (!strcmp(r.key, "name")) {
			free(s->name);
			s->name = strdup(r.value);
		} else if (!strcmp(r.key, "argv")) {
			if (list_add(&s->argv, r.value) < 0)
				return fail_sys(err, REMIT_E_MEMORY, "argv");
		} else {
			return fail(err, REMIT_E_PROTOCOL,
				    "a job has no \"%.40s\"", r.key);
		}
	}
	return 0;
}

static int
take_code(struct session *s, const struct frame *f, uint64_t max,
	  struct remit_error *err)
{
	if (s->code.len + f->len > max)
		return fail(err, REMIT_E_INPUT,
			    "the code is longer than code_bytes allows (%llu "
			    "bytes)",
			    (unsigned long long)max);
	if (buf_add(&s->code, f->payload, f->len) < 0)
		return fail_sys(err, REMIT_E_MEMORY, "code");
	return 0;
}

static void
flush_input(struct session *s)
{
	if (feed_flush(&s->input)) {
		/* In this order: a copy of the pipe in a jail that is just
		   being born would keep a closed descriptor in the epoll. */
		loop_remove(&s->keeper->loop, &s->on_in);
		feed_free(&s->input);
		return;
	}
	loop_want(&s->keeper->loop, &s->on_in,
		  feed_wants_write(&s->input) ? EPOLLOUT : 0);
}

static void
on_in(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	/* An error is a reader that is gone: nothing more to write. */
	if (events & EPOLLERR && !feed_wants_write(&s->input))
		loop_remove(&s->keeper->loop, &s->on_in);
	else
		flush_input(s);
}

static void
interrupt(struct session *s)
{
	uint64_t grace = now_us() + INTERRUPT_GRACE_US;

	s->facts.interrupted = true;
	if (s->state != SESSION_RUNNING) {
		die(s);
		return;
	}
	jail_interrupt(&s->jail);
	if (!s->deadline_us || grace < s->deadline_us)
		s->deadline_us = grace;
	set_timer(s);
}

static int
take_frame(struct session *s, const struct frame *f, struct remit_error *err)
{
	bool caps = true;

#ifdef REMIT_HOLES
	caps = !(host_left_out(&s->keeper->host) & MECH(FRAME_CAP));
#endif
	if (s->started && f->type != FRAME_INTERRUPT &&
	    f->type != FRAME_STDIN && f->type != FRAME_STDIN_END)
		return fail(err, REMIT_E_PROTOCOL, "frame \"%s\" after start",
			    frame_rules[f->type].name);
	switch (f->type) {
	case FRAME_POLICY:
		return policy_parse(&s->policy, f->payload, f->len, "policy",
				    err);
	case FRAME_JOB:
		return take_job(s, f, err);
	case FRAME_CODE:
		return take_code(
			s, f, caps ? s->policy.code_bytes : s->code.cap, err);
	case FRAME_STDIN:
		if (feed_add(&s->input, f->payload, f->len,
			     caps ? s->policy.stdin_bytes : UINT64_MAX,
			     err) < 0)
			return -1;
		flush_input(s);
		return 0;
	case FRAME_STDIN_END:
		s->input.ended = true;
		flush_input(s);
		return 0;
	case FRAME_START:
		s->started = true;
		s->state = SESSION_WAITING;
		keeper_enqueue(s->keeper, s);
		return 0;
	case FRAME_INTERRUPT:
		interrupt(s);
		return 0;
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

static void
door_left(struct session *s)
{
	s->door_gone = true;
	loop_remove(&s->keeper->loop, &s->on_door);
	if (s->state == SESSION_DONE || !s->jail.init_pid)
		keeper_remove(s->keeper, s);
	else
		die(s);
}

static void
on_door(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct remit_error err;
	struct frame f;

	if (events & EPOLLOUT) {
		flush_door(s);
		if (s->state == SESSION_DONE && !link_wants_write(&s->door)) {
			keeper_remove(s->keeper, s);
			return;
		}
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	if (s->state == SESSION_DONE || link_fill(&s->door, &err) < 0 ||
	    s->door.ended) {
		door_left(s);
		return;
	}
	while (s->state < SESSION_DYING) {
		if (link_next(&s->door, &f, &err) < 0 ||
		    (f.type != FRAME_NONE && take_frame(s, &f, &err) < 0)) {
			give_up(s, &err);
			return;
		}
		if (f.type == FRAME_NONE)
			return;
	}
}

/* ---- the jail ---- */

static void
drain(struct session *s, struct capture *c, struct source *src)
{
	struct remit_error err;

	if (capture_drain(c, &s->door, &err) < 0) {
		give_up(s, &err);
		return;
	}
	if (c->ended)
		loop_remove(&s->keeper->loop, src);
	if (capture_is_over_ceiling(c)) {
		s->facts.over_ceiling = true;
		die(s);
	}
	flush_door(s);
}

static void
on_out(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	drain(s, &s->out, &s->on_out);
}

static void
on_err(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	drain(s, &s->err, &s->on_err);
}

static int
send_task(struct session *s, struct remit_error *err)
{
	own(buf) struct buf task = BUF_INIT(frame_rules[FRAME_TASK].max);
	struct task_job job = {
		.name = s->name ? s->name : "main.py",
		.argv = &s->argv,
		.code_len = s->code.len,
	};

	if (task_write(&task, &s->plan, &job, err) < 0 ||
	    link_send(&s->jail.channel, FRAME_TASK, task.data, task.len, err) <
		    0 ||
	    link_send_pieces(&s->jail.channel, FRAME_CODE, s->code.data,
			     s->code.len, err) < 0)
		return -1;
	buf_free(&s->code);
	s->state = SESSION_CHECKING;
	s->began_us = now_us();
	s->deadline_us = 0;
	if (s->policy.timeout_ms != POLICY_UNLIMITED &&
	    plan_keeps(&s->plan, MECH(TIMER)))
		s->deadline_us = s->began_us + s->policy.timeout_ms * 1000;
	set_timer(s);
	schedule_cpu_check(s);
	return 0;
}

static int
take_report(struct session *s, const struct frame *f, struct remit_error *err)
{
	struct step_report r;

	if (s->state != SESSION_LOCKING || f->len != sizeof(r))
		return fail(err, REMIT_E_PROTOCOL, "an unexpected report");
	memcpy(&r, f->payload, sizeof(r));
	if (r.step != STEP_READY)
		return jail_step_failed(&r, &s->plan, err);
	if (!s->met) {
		*err = s->error;
		return -1;
	}
	return send_task(s, err);
}

static int
take_checked(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state != SESSION_CHECKING)
		return fail(err, REMIT_E_PROTOCOL, "checked at a wrong time");
	if (claim_parse_checked(&s->claim, f->payload, f->len, err) < 0)
		return -1;
	s->facts.checked_only = s->plan.tier == TIER_STATIC;
	if (s->claim.kind == CLAIM_REJECTED || s->facts.checked_only) {
		die(s);
		return 0;
	}
	s->state = SESSION_RUNNING;
	return link_send(&s->jail.channel, FRAME_GO, "", 0, err);
}

static int
take_jail_frame(struct session *s, const struct frame *f,
		struct remit_error *err)
{
	switch (f->type) {
	case FRAME_REPORT:
		return take_report(s, f, err);
	case FRAME_CHECKED:
		return take_checked(s, f, err);
	case FRAME_ENDED:
		if (s->state != SESSION_RUNNING)
			return fail(err, REMIT_E_PROTOCOL,
				    "ended before it began");
		return claim_parse_ended(&s->claim, f->payload, f->len, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

static void
flush_channel(struct session *s)
{
	struct remit_error err;
	uint32_t events = s->jail.channel.ended ? 0 : EPOLLIN;

	/* The other side may be dead; then its exit is on the way. */
	if (link_flush(&s->jail.channel, &err) < 0)
		buf_free(&s->jail.channel.out);
	if (link_wants_write(&s->jail.channel))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->on_channel, events);
}

/*
 * Whatever a running program writes to its channel concerns only itself: a
 * broken protocol ends its claims and nothing else. Before the start it is
 * our own runtime that speaks, and it must not fail.
 */
static void
on_channel(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct link *l = &s->jail.channel;
	struct remit_error err;
	struct frame f = { .type = FRAME_NONE };

	(void)events;
	/* Judged when the report is read: a jail that failed before its lock
	   is not locked, and its report says why. */
	if (s->state == SESSION_LOCKING && !s->jail.run_pid)
		s->met = jail_meet(&s->jail, &s->plan, &s->error) == 0;
	if (link_fill(l, &err) < 0)
		l->ended = true;
	do {
		if (link_next(l, &f, &err) < 0 ||
		    (f.type != FRAME_NONE &&
		     take_jail_frame(s, &f, &err) < 0)) {
			if (s->state < SESSION_RUNNING) {
				give_up(s, &err);
				return;
			}
			l->ended = true;
			break;
		}
	} while (f.type != FRAME_NONE && s->state < SESSION_DYING);
	if (l->ended)
		loop_remove(&s->keeper->loop, &s->on_channel);
	else
		flush_channel(s);
}

/* Our own runtime speaks before the start: it must not leave by itself. */
static void
note_early_end(struct session *s)
{
	if (s->state >= SESSION_RUNNING || s->failed ||
	    !s->facts.has_wait_status || !WIFEXITED(s->facts.wait_status))
		return;
	fail(&s->error, REMIT_E_INTERNAL,
	     "the interpreter ended before the program began (exit code %d)",
	     WEXITSTATUS(s->facts.wait_status));
	s->failed = true;
}

static void
on_lifeline(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct link *l = &s->jail.lifeline;
	struct remit_error err;
	struct frame f;

	(void)events;
	if (link_fill(l, &err) < 0 || link_next(l, &f, &err) < 0 || l->ended) {
		/* Pid 1 is dead: its pidfd tells. */
		loop_remove(&s->keeper->loop, &s->on_lifeline);
		return;
	}
	if (f.type == FRAME_EXITED && f.len == sizeof(s->exit)) {
		memcpy(&s->exit, f.payload, sizeof(s->exit));
		s->facts.has_wait_status = true;
		s->facts.wait_status = s->exit.wait_status;
		s->ended_us = now_us();
		note_early_end(s);
		die(s);
	}
}

/* Everything in the jail is dead now: nobody writes any more. */
static void
on_init(void *owner, uint32_t events)
{
	struct session *s = owner;
	int status = 0;

	(void)events;
	if (!jail_is_dead(&s->jail, &status))
		return;
	if (s->jail.unjailed) {
		s->facts.has_wait_status = true;
		s->facts.wait_status = status;
	} else if (!s->facts.has_wait_status && s->state != SESSION_DYING) {
		s->facts.init_died = true;
	}
	note_early_end(s);
	if (!s->ended_us)
		s->ended_us = now_us();
	s->state = SESSION_DYING;
	finish(s);
}

static void
read_rest(struct session *s, struct capture *c)
{
	struct remit_error err;
	uint64_t before;

	do {
		before = c->total_bytes;
		if (c->fd < 0 || capture_drain(c, &s->door, &err) < 0)
			return;
	} while (!c->ended && c->total_bytes > before);
}

static void
read_facts(struct session *s)
{
	struct cgroup_usage g;

	cgroup_read(&s->jail.group, &g);
	s->facts.oom_kills = g.oom_kills;
	/* The group's counter lags behind, the process's forgets children. */
	s->facts.cpu_us = g.cpu_us > s->exit.cpu_us ? g.cpu_us : s->exit.cpu_us;
}

static void
finish(struct session *s)
{
	struct remit_error err;
	json_t *result;
	char *text;

	unwatch_jail(s);
	s->state = SESSION_DONE;
	if (s->door_gone) {
		keeper_remove(s->keeper, s);
		return;
	}
	read_rest(s, &s->out);
	read_rest(s, &s->err);
	read_facts(s);
	result = result_make(s);
	text = result ? json_dumps(result,
				   JSON_COMPACT | JSON_REAL_PRECISION(15))
		      : NULL;
	json_decref(result);
	if (!text ||
	    link_send(&s->door, FRAME_RESULT, text, strlen(text), &err) < 0)
		s->door_gone = true; /* no memory: the door sees the end */
	free(text);
	flush_door(s);
	/* The jail's remains go after the answer, not before. */
	jail_free(&s->jail);
	keeper_ended(s->keeper, s);
	if (s->door_gone || !link_wants_write(&s->door))
		keeper_remove(s->keeper, s);
}

/* ---- the beginning ---- */

static void
set_captures(struct session *s)
{
	const struct policy *p = &s->policy;
	bool caps = plan_keeps(&s->plan, MECH(CAPTURE));

	s->out = (struct capture){
		.fd = s->jail.out,
		.type = FRAME_STDOUT,
		.max_bytes = caps ? p->stdout_max_bytes : UINT64_MAX,
		.ceiling_bytes = caps ? p->stdout_max_bytes * p->output_ceiling
				      : UINT64_MAX,
	};
	s->err = (struct capture){
		.fd = s->jail.err,
		.type = FRAME_STDERR,
		.max_bytes = caps ? p->stderr_max_bytes : UINT64_MAX,
		.ceiling_bytes = caps ? p->stderr_max_bytes * p->output_ceiling
				      : UINT64_MAX,
	};
}

static int
watch_jail(struct session *s, struct remit_error *err)
{
	struct loop *l = &s->keeper->loop;
	struct jail *j = &s->jail;

	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer < 0)
		return fail_sys(err, REMIT_E_KERNEL, "timerfd");
	if (loop_add(l, &s->on_timer, s->timer, EPOLLIN, on_timer, s, err) <
		    0 ||
	    loop_add(l, &s->on_in, s->input.fd, 0, on_in, s, err) < 0 ||
	    loop_add(l, &s->on_out, j->out, EPOLLIN, on_out, s, err) < 0 ||
	    loop_add(l, &s->on_err, j->err, EPOLLIN, on_err, s, err) < 0 ||
	    loop_add(l, &s->on_channel, j->channel.fd, EPOLLIN, on_channel, s,
		     err) < 0 ||
	    loop_add(l, &s->on_init, j->init_pidfd, EPOLLIN, on_init, s, err) <
		    0)
		return -1;
	flush_input(s);
	if (j->lifeline.fd < 0)
		return 0;
	return loop_add(l, &s->on_lifeline, j->lifeline.fd, EPOLLIN,
			on_lifeline, s, err);
}

static int
open_jail(struct session *s, struct remit_error *err)
{
	struct plan_job job = {
		.code_bytes = s->code.len,
		.stdin_bytes = s->input.total_bytes,
	};
	struct keeper *k = s->keeper;
	own_fd int input = -1;
	int opened;

	if (keeper_prepare(k, s, err) < 0 ||
	    plan_build(&s->plan, &s->policy, &job, &k->host, &s->interpreter,
		       err) < 0)
		return -1;
	s->planned = true;
	if (s->policy.cpu_ms != POLICY_UNLIMITED &&
	    (s->plan.limits.cpu_cgroup_ms || s->plan.limits.cpu_rlimit_s))
		s->facts.cpu_limit_ms = s->policy.cpu_ms;
	if (feed_open(&s->input, &input, err) < 0 ||
	    (tiers[s->plan.tier].jailed && keeper_stand(k, err) < 0))
		return -1;
	opened = tiers[s->plan.tier].jailed
			 ? jail_open(&s->jail, &s->plan, &k->site, input, s->id,
				     err)
			 : jail_open_unsafe(&s->jail, &s->plan, &k->site, input,
					    err);
	set_captures(s);
	if (opened < 0)
		return -1;
	return watch_jail(s, err);
}

void
session_begin(struct session *s)
{
	struct remit_error err;

	s->was_begun = true;
	s->state = SESSION_LOCKING;
	if (open_jail(s, &err) < 0) {
		/* Half a jail is watched by nobody. */
		unwatch_jail(s);
		jail_free(&s->jail);
		s->out.fd = s->err.fd = -1;
		give_up(s, &err);
		return;
	}
	s->deadline_us = now_us() + START_PATIENCE_US;
	set_timer(s);
	/* Nothing to lock in the unsafe tier. */
	if (s->jail.unjailed) {
		if (send_task(s, &err) < 0)
			give_up(s, &err);
		else
			flush_channel(s);
	}
}

void
session_refuse_busy(struct session *s, size_t waiting)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "%zu runs are waiting already", waiting);
	give_up(s, &err);
}
