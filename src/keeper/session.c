#include "session.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "denial_rule.h"
#include "harvest.h"
#include "known.h"
#include "module_package.h"
#include "network.h"
#include "result.h"
#include "session_part.h"

void
session_make_id(char out[24])
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = loop_now_us();
	snprintf(out, 24, "%016llx", (unsigned long long)noise);
}

static struct session *
make(struct keeper *k)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct session){
		.keeper = k,
		.door = LINK_INIT,
		.policy_text = BUF_INIT(frame_rules[FRAME_POLICY].max),
		.code = BUF_INIT(64 * 1024 * 1024),
		.input = FEED_INIT,
		.files = INPUTS_INIT,
		.bridge = BRIDGE_INIT,
		.shelf = SHELF_INIT,
		.out = { .fd = -1 },
		.err = { .fd = -1 },
		.workspace = -1,
		.stdin_pipe = -1,
		.committer = -1,
		.committed = -1,
		.changes = BUF_INIT((2 << 20) + KNOWN_MAX),
		.known = BUF_INIT(KNOWN_MAX),
		.timer = { .ring = session_on_timer, .owner = s },
		.on_door = SOURCE_INIT,
		.on_in = SOURCE_INIT,
		.on_committer = SOURCE_INIT,
		.on_proxy = SOURCE_INIT,
	};
	session_make_id(s->id);
	return s;
}

static void
stand_at(struct session *s, int door_fd)
{
	link_open(&s->door, door_fd, PARTY_DOOR);
	s->door.takes = true;
}

struct session *
session_new(struct keeper *k, int door_fd)
{
	struct session *s = make(k);
	struct remit_error err;

	if (!s) {
		close(door_fd);
		return NULL;
	}
	stand_at(s, door_fd);
	if (loop_add(&k->loop, &s->on_door, door_fd, EPOLLIN, session_on_door,
		     s, &err) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

struct session *
session_after(struct session *s)
{
	struct session *next;

	if (s->state != SESSION_DONE || !s->stays || s->door_gone ||
	    s->door.ended || link_wants_write(&s->door))
		return NULL;
	next = make(s->keeper);
	if (!next)
		return NULL; /* no memory: the door sees the end */
	next->comes_after = true;
	stand_at(next, take_fd(&s->door.fd));
	loop_move(&s->keeper->loop, &s->on_door, &next->on_door, next);
	return next;
}

void
session_part(struct session *s)
{
	session_forget_question(s);
	loop_remove(&s->keeper->loop, &s->on_proxy);
	loop_remove(&s->keeper->loop, &s->on_in);
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	if (s->inmate)
		inmate_leave(s->inmate);
	s->inmate = NULL;
}

void
session_free(struct session *s)
{
	session_audit(s, NULL);
	session_part(s);
	session_end_fork(s);
	if (s->branch)
		s->branch->origin = NULL;
	loop_remove(&s->keeper->loop, &s->on_door);
	if (s->pool) {
		pool_unserve(s->pool, s);
		pool_drop(s->pool);
	}
	link_free(&s->door);
	claim_free(&s->claim);
	denials_free(&s->denials);
	policy_free(&s->policy);
	shelf_free(&s->shelf);
	buf_free(&s->policy_text);
	list_free(&s->argv);
	buf_free(&s->code);
	feed_free(&s->input);
	inputs_free(&s->files);
	bridge_free(&s->bridge);
	session_forget_files(s);
	own_fd_close(&s->stdin_pipe);
	session_commit_free(s);
	free(s->network);
	free(s->network_before);
	free(s->name);
	free(s->context);
	free(s->tenant);
	list_free(&s->env);
	secrets_free(&s->secrets);
	free(s);
}

const struct policy *
session_policy(const struct session *s)
{
	return s->pool ? &s->pool->policy : &s->policy;
}

/* ---- endings ---- */

void
session_die(struct session *s)
{
	struct jail *j = s->inmate ? &s->inmate->jail : NULL;

	if (s->state >= SESSION_DYING)
		return;
	if (!s->ended_us)
		s->ended_us = loop_now_us();
	if (!j || !j->init_pid) {
		session_finish(s);
		return;
	}
	s->state = SESSION_DYING;
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	/* Who is killed cannot tell any more. */
	if (!s->facts.has_wait_status)
		jail_sample(j, &s->exit);
	inmate_kill(s->inmate);
}

void
session_give_up(struct session *s, const struct remit_error *err)
{
	if (session_rests(s)) {
		session_lose(s, err);
		return;
	}
	if (!s->failed) {
		s->error = *err;
		s->failed = true;
	}
	session_die(s);
}

void
session_read_output(struct session *s, struct capture *c)
{
	struct remit_error err;
	/* A program that only says it is done may write on for ever; what it
	   wrote before is no more than a pipe holds (pipe(7)). */
	uint64_t before, enough = c->total_bytes + FRAME_PIECE;

	do {
		before = c->total_bytes;
		if (c->fd < 0 || capture_drain(c, &s->door, &err) < 0)
			return;
	} while (!c->ended && c->total_bytes > before &&
		 c->total_bytes < enough);
}

/* Of this cell: what was before is not its own. */
static uint64_t
since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void
read_facts(struct session *s)
{
	const struct cgroup_usage *g = &s->used;
	unsigned details = CGROUP_READ_ALL;
	uint64_t group, own;

	if (!s->inmate)
		return;
	/* The clock of one process knows it all, and a program that speaks was
	   not killed. */
	if (s->exit.cpu_us && !s->pool->plan.limits.many_processes)
		details &= ~(unsigned)CGROUP_READ_CPU;
	if (s->claim.has_exit_code && !s->facts.has_wait_status &&
	    !s->facts.init_died)
		details &= ~(unsigned)CGROUP_READ_OOM;
	cgroup_read(&s->inmate->jail.group, details, &s->used);
	s->facts.oom_kills = g->oom_kills;
	/* The group's counter lags behind, the process's forgets children. */
	group = since(g->cpu_us, s->cpu_before_us);
	own = since(s->exit.cpu_us, s->own_cpu_before_us);
	s->facts.cpu_us = group > own ? group : own;
}

static void
read_network(struct session *s)
{
	if (!s->inmate)
		return;
	s->network = network_copy(s->inmate->proxy.ledger);
	network_since(s->network, s->network_before);
	free(s->network_before);
	s->network_before =
		s->opened ? network_copy(s->inmate->proxy.ledger) : NULL;
	network_denials(s->network, &s->denials);
}

/* The code may have seen its connections reset, and ended as if they had been
   by their hosts, before the keeper has heard of it. */
static void
end_proxy(struct session *s)
{
	if (!s->inmate || proxy_end(&s->inmate->proxy) || s->failed)
		return;
	fail(&s->error, REMIT_E_INTERNAL, "the network proxy died");
	s->failed = true;
}

static void
note_run(const struct session *s)
{
	struct journal_run run = {
		.tier = (enum tier)session_policy(s)->tier,
		.status = result_status(s),
		.warm = s->was_warm,
		.code_bytes = s->code_bytes,
		.wall_us = s->began_us ? s->ended_us - s->began_us : 0,
		.cpu_us = s->facts.cpu_us,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	run.ended_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	memcpy(run.id, s->id, sizeof(run.id));
	journal_add(&s->keeper->journal, &run);
}

/* A path that ended the program, in its own words. */
static void
note_path(struct session *s)
{
	const struct claim *c = &s->claim;
	struct denial d;

	if (c->denied_path && s->pool &&
	    denial_of_path(&d, c->denied_path, c->denied_errno, &s->pool->plan))
		denials_add(&s->denials, &d);
}

/* Which package has a missing module, trusted code decides; and advice that
   the plan would refuse is not given. */
static void
note_module(struct session *s)
{
	struct claim *c = &s->claim;
	const char *package = c->error && c->missing_module
				      ? module_package_find(c->missing_module)
				      : NULL;

	if (package && s->pool &&
	    plan_takes_package(&s->pool->plan, &s->keeper->host, package))
		claim_add_package(c, package);
}

void
session_answer(struct session *s)
{
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_RESULT].max);
	struct remit_error err;
	bool goes_on = s->opened && !s->closing;

	session_end_fork(s);
	s->state = goes_on ? SESSION_IDLE : SESSION_DONE;
	s->stays = session_door_stays(s);
	if (result_write(&text, s) == 0)
		session_audit(s, &text);
	if (!text.len ||
	    (s->pool &&
	     link_send(&s->door, FRAME_ENFORCEMENT, s->pool->enforcement,
		       strlen(s->pool->enforcement), &err) < 0) ||
	    (s->stays && link_send(&s->door, FRAME_STAYS, "", 0, &err) < 0) ||
	    link_send(&s->door, FRAME_RESULT, text.data, text.len, &err) < 0)
		s->door_gone = true; /* no memory: the door sees the end */
	if (goes_on) {
		keeper_note_latency(s->keeper, s->asked_us);
		session_rest(s);
		return;
	}
	session_flush_door(s);
	/* The jail's remains go after the answer, not before. */
	keeper_note_latency(s->keeper, s->asked_us);
	session_part(s);
	keeper_ended(s->keeper, s);
	if (s->door_gone || !link_wants_write(&s->door))
		keeper_remove(s->keeper, s);
}

void
session_give_files(struct session *s)
{
	if (s->door_gone) {
		keeper_remove(s->keeper, s);
	} else if (session_export(s)) {
		session_part(s);
		session_export_more(s);
	} else {
		session_answer(s);
	}
}

static void
settle(struct session *s)
{
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
	read_facts(s);
}

static void
tell(struct session *s)
{
	read_network(s);
	note_path(s);
	note_module(s);
	note_run(s);
}

void
session_end_cell(struct session *s)
{
	settle(s);
	tell(s);
	session_answer(s);
}

void
session_finish(struct session *s)
{
	if (s->door_gone) {
		s->state = SESSION_DONE;
		note_run(s);
		keeper_remove(s->keeper, s);
		return;
	}
	settle(s);
	end_proxy(s);
	tell(s);
	if (s->opened)
		session_note_loss(s);
	session_take_workspace(s);
	if (session_commit(s)) {
		session_part(s);
		session_commit_wait(s);
	} else {
		session_give_files(s);
	}
}

/* ---- the beginning ---- */

static void
set_captures(struct session *s)
{
	const struct policy *p = &s->pool->policy;
	const struct jail *j = &s->inmate->jail;
	bool caps = plan_keeps(&s->pool->plan, MECH(CAPTURE));

	s->out = (struct capture){
		.fd = j->out,
		.type = FRAME_STDOUT,
		.max_bytes = caps ? p->stdout_max_bytes : UINT64_MAX,
		.ceiling_bytes = caps ? p->stdout_max_bytes * p->output_ceiling
				      : UINT64_MAX,
	};
	s->err = (struct capture){
		.fd = j->err,
		.type = FRAME_STDERR,
		.max_bytes = caps ? p->stderr_max_bytes : UINT64_MAX,
		.ceiling_bytes = caps ? p->stderr_max_bytes * p->output_ceiling
				      : UINT64_MAX,
	};
}

/* A pipe whose writers are all gone stays at its end. */
void
session_renew_captures(struct session *s)
{
	s->out.total_bytes = s->out.kept_bytes = 0;
	s->err.total_bytes = s->err.kept_bytes = 0;
}

/* The door has sent its standard input to us so far. */
static int
connect_input(struct session *s, struct remit_error *err)
{
	if (!s->opened)
		s->input.fd = take_fd(&s->inmate->in);
	if (feed_flush(&s->input)) {
		feed_free(&s->input);
		return 0;
	}
	return loop_add(&s->keeper->loop, &s->on_in, s->input.fd,
			feed_wants_write(&s->input) ? EPOLLOUT : 0,
			session_on_in, s, err);
}

/* A clock that was set back does not get there: then all that is there is
   younger than the run, and nothing of it is replaced. */
#define PATIENCE_US 100000

/* So that what others changed before differs in time from what they change
   from now on. */
static bool
must_wait(const struct session *s)
{
	return s->pool->plan.write_roots && !stamp_is_over(&s->asked_at) &&
	       loop_now_us() < s->asked_us + PATIENCE_US;
}

void
session_start(struct session *s)
{
	struct remit_error err;

	if (must_wait(s)) {
		loop_set_timer(&s->keeper->loop, &s->timer,
			       loop_now_us() + stamp_tick_us() / 2);
		return;
	}
	if (session_is_open(s) && !s->started) {
		session_tell_opened(s);
		return;
	}
	/* A cell that finds nobody at its standard input is at its end. */
	if ((s->opened && session_open_stdin(s, &err) < 0) ||
	    session_send_job(s, &err) < 0) {
		session_give_up(s, &err);
		return;
	}
	session_flush_channel(s);
	/* The rest while the code runs: its end is what the door waits for. */
	if (connect_input(s, &err) < 0) {
		session_give_up(s, &err);
		return;
	}
	if (!s->opened)
		cgroup_open_peaks(&s->inmate->jail.group);
	keeper_await(s->keeper);
}

void
session_take(struct session *s, struct inmate *i)
{
	struct remit_error err;

	s->inmate = i;
	i->session = s;
	i->state = INMATE_TAKEN;
	s->was_warm = i->jail.warm;
	s->is_watched = i->jail.listener >= 0;
	set_captures(s);
	if (session_hear_questions(s, &err) < 0)
		session_give_up(s, &err);
	else
		session_start(s);
}

int
session_plan(struct session *s, bool many, struct remit_error *err)
{
	enum pool_use use = !many	  ? POOL_RUNS
			    : s->forkable ? POOL_FORKABLE
					  : POOL_SESSIONS;
	struct pool *p = s->pool;

	if (p)
		return 0;
	p = pool_for(s->keeper, &s->policy, &s->shelf, s->policy_text.data,
		     s->policy_text.len, use, err);
	if (!p)
		return -1;
	s->pool = pool_use(p);
	return 0;
}

static int
seek(struct session *s, struct remit_error *err)
{
	struct keeper *k = s->keeper;
	const struct plan *plan;

	if (session_plan(s, session_is_open(s), err) < 0)
		return -1;
	plan = &s->pool->plan;
	if (s->pool->policy.cpu_ms != POLICY_UNLIMITED &&
	    (plan->limits.cpu_cgroup_ms || plan->limits.cpu_rlimit_s ||
	     plan->limits.cpu_clock_ms))
		s->facts.cpu_limit_ms = s->pool->policy.cpu_ms;
	if (inputs_check(&s->files, plan, err) < 0 ||
	    (tiers[plan->tier].jailed && keeper_stand(k, err) < 0))
		return -1;
	return pool_serve(s->pool, s, err);
}

void
session_begin(struct session *s)
{
	struct remit_error err;

	s->was_begun = true;
	if (s->started && s->opened) {
		session_begin_cell(s);
		return;
	}
	s->state = SESSION_SEEKING;
	s->asked_at = stamp_latest();
	if (clerk_check(&s->keeper->clerk, &err) < 0 || seek(s, &err) < 0)
		session_give_up(s, &err);
}

void
session_refuse_busy(struct session *s, size_t waiting)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "%zu runs are waiting already", waiting);
	/* A cell that must not wait costs no variables. */
	if (s->started && s->opened) {
		s->error = err;
		s->failed = true;
		session_answer(s);
		return;
	}
	session_give_up(s, &err);
}
