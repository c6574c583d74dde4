#include "session.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>

#include "result.h"
#include "session_part.h"

static void
make_id(char *out, size_t size)
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = session_now_us();
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
	    loop_add(&k->loop, &s->on_door, door_fd, EPOLLIN, session_on_door,
		     s, &err) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

void
session_unwatch(struct session *s)
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
	session_unwatch(s);
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

void
session_die(struct session *s)
{
	if (s->state >= SESSION_DYING)
		return;
	if (!s->ended_us)
		s->ended_us = session_now_us();
	if (!s->jail.init_pid) {
		session_finish(s);
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
void
session_give_up(struct session *s, const struct remit_error *err)
{
	if (!s->failed) {
		s->error = *err;
		s->failed = true;
	}
	session_die(s);
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

void
session_finish(struct session *s)
{
	struct remit_error err;
	json_t *result;
	char *text;

	session_unwatch(s);
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
	session_flush_door(s);
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
	if (loop_add(l, &s->on_timer, s->timer, EPOLLIN, session_on_timer, s,
		     err) < 0 ||
	    loop_add(l, &s->on_in, s->input.fd, 0, session_on_in, s, err) < 0 ||
	    loop_add(l, &s->on_out, j->out, EPOLLIN, session_on_out, s, err) <
		    0 ||
	    loop_add(l, &s->on_err, j->err, EPOLLIN, session_on_err, s, err) <
		    0 ||
	    loop_add(l, &s->on_channel, j->channel.fd, EPOLLIN,
		     session_on_channel, s, err) < 0 ||
	    loop_add(l, &s->on_init, j->init_pidfd, EPOLLIN, session_on_init, s,
		     err) < 0)
		return -1;
	session_flush_input(s);
	if (j->lifeline.fd < 0)
		return 0;
	return loop_add(l, &s->on_lifeline, j->lifeline.fd, EPOLLIN,
			session_on_lifeline, s, err);
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
		session_unwatch(s);
		jail_free(&s->jail);
		s->out.fd = s->err.fd = -1;
		session_give_up(s, &err);
		return;
	}
	s->deadline_us = session_now_us() + START_PATIENCE_US;
	session_set_timer(s);
	/* Nothing to lock in the unsafe tier. */
	if (s->jail.unjailed) {
		if (session_send_task(s, &err) < 0)
			session_give_up(s, &err);
		else
			session_flush_channel(s);
	}
}

void
session_refuse_busy(struct session *s, size_t waiting)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "%zu runs are waiting already", waiting);
	session_give_up(s, &err);
}
