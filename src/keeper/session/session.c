#include "keeper/session/session.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "keeper/output/denial_rule.h"
#include "keeper/output/export.h"
#include "keeper/output/network.h"
#include "keeper/output/result.h"
#include "keeper/session/part.h"
#include "policy/rules/module_package.h"
#include "wire/result_member.h"

static void work(void *owner);
static void on_timer(void *owner);

static struct session *
make(struct keeper *k)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct session){
		.keeper = k,
		.client = LINK_INIT,
		.policy_text = BUF_INIT(frame_rules[FRAME_POLICY].max),
		.cell = CELL_INIT,
		.bridge = BRIDGE_INIT,
		.package_layer = PACKAGE_LAYER_INIT,
		.out = { .fd = -1 },
		.err = { .fd = -1 },
		.stdin_pipe = -1,
		.committer = COMMITTER_INIT,
		.queue.work = { .run = work, .owner = s },
		.timer = { .ring = on_timer, .owner = s },
		.on_client = SOURCE_INIT,
		.on_in = SOURCE_INIT,
		.on_proxy = SOURCE_INIT,
	};
	cell_make_id(s->cell.id);
	return s;
}

static void
stand_at(struct session *s, int client_fd)
{
	link_open(&s->client, client_fd, PARTY_CLIENT);
	s->client.takes = true;
}

struct session *
session_new(struct keeper *k, int client_fd)
{
	struct session *s = make(k);
	struct remit_error err;

	if (!s) {
		close(client_fd);
		return NULL;
	}
	stand_at(s, client_fd);
	if (loop_add(&k->loop, &s->on_client, client_fd, EPOLLIN,
		     session_on_client, s, &err) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

struct session *
session_after(struct session *s)
{
	struct session *next;

	if (s->state != SESSION_DONE || !s->stays || s->client_gone ||
	    s->client.ended || link_wants_write(&s->client))
		return NULL;
	next = make(s->keeper);
	if (!next)
		return NULL; /* no memory: the client sees the end */
	next->comes_after = true;
	stand_at(next, take_fd(&s->client.fd));
	loop_move(&s->keeper->loop, &s->on_client, &next->on_client, next);
	return next;
}

void
session_part(struct session *s)
{
	session_forget_question(s);
	loop_remove(&s->keeper->loop, &s->on_proxy);
	loop_remove(&s->keeper->loop, &s->on_in);
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	if (s->worker)
		worker_leave(s->worker);
	s->worker = NULL;
}

void
session_free(struct session *s)
{
	session_audit(s, NULL);
	session_part(s);
	session_end_fork(s);
	if (s->branch)
		s->branch->origin = NULL;
	loop_remove(&s->keeper->loop, &s->on_client);
	loop_undefer(&s->keeper->loop, &s->queue.work);
	if (s->pool) {
		pool_unserve(s->pool, s);
		pool_drop(s->pool);
	}
	link_free(&s->client);
	policy_free(&s->policy);
	package_layer_free(&s->package_layer);
	buf_free(&s->policy_text);
	bridge_free(&s->bridge);
	own_fd_close(&s->stdin_pipe);
	committer_free(&s->committer, &s->keeper->loop);
	free(s->network_before);
	secrets_free(&s->secrets);
	cell_free(&s->cell);
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
	struct jail *j = s->worker ? &s->worker->jail : NULL;

	if (s->state >= SESSION_DYING)
		return;
	if (!s->cell.ended_us)
		s->cell.ended_us = loop_now_us();
	if (!j || !j->init_pid) {
		session_finish(s);
		return;
	}
	if (session_enter(s, SESSION_DYING) < 0)
		return;
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	/* Who is killed cannot tell any more. */
	if (!s->cell.facts.has_wait_status)
		jail_sample(j, &s->cell.exit);
	worker_kill(s->worker);
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
		if (c->fd < 0 || capture_drain(c, &s->client, &err) < 0)
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
	const struct cgroup_usage *g = &s->cell.used;
	unsigned details = CGROUP_READ_ALL;
	uint64_t group, own;

	if (!s->worker)
		return;
	/* The clock of one process knows it all, and a program that speaks was
	   not killed. */
	if (s->cell.exit.cpu_us && !s->pool->plan.limits.many_processes)
		details &= ~(unsigned)CGROUP_READ_CPU;
	if (s->cell.claim.has_exit_code && !s->cell.facts.has_wait_status &&
	    !s->cell.facts.init_died)
		details &= ~(unsigned)CGROUP_READ_OOM;
	cgroup_read(&s->worker->jail.group, details, &s->cell.used);
	s->cell.facts.oom_kills = g->oom_kills;
	/* The group's counter lags behind, the process's forgets children. */
	group = since(g->cpu_us, s->cell.cpu_before_us);
	own = since(s->cell.exit.cpu_us, s->cell.own_cpu_before_us);
	s->cell.facts.cpu_us = group > own ? group : own;
}

static void
read_network(struct session *s)
{
	if (!s->worker)
		return;
	s->cell.network = network_copy(s->worker->proxy.ledger);
	network_since(s->cell.network, s->network_before);
	free(s->network_before);
	s->network_before = session_is_opened(s)
				    ? network_copy(s->worker->proxy.ledger)
				    : NULL;
	network_denials(s->cell.network, &s->cell.denials);
}

/* The code may have seen its connections reset, and ended as if they had been
   by their hosts, before the keeper has heard of it. */
static void
end_proxy(struct session *s)
{
	struct remit_error err;

	if (!s->worker || proxy_end(&s->worker->proxy))
		return;
	fail(&err, REMIT_E_INTERNAL, "the network proxy died");
	cell_fail(&s->cell, &err);
}

static void
note_run(const struct session *s)
{
	struct journal_run run = {
		.tier = (enum tier)session_policy(s)->tier,
		.status = result_status(s),
		.warm = s->cell.was_warm,
		.code_bytes = s->cell.code_bytes,
		.wall_us = s->cell.began_us
				   ? s->cell.ended_us - s->cell.began_us
				   : 0,
		.cpu_us = s->cell.facts.cpu_us,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	run.ended_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	memcpy(run.id, s->cell.id, sizeof(run.id));
	journal_add(&s->keeper->journal, &run);
}

/* A path that ended the program, in its own words. */
static void
note_path(struct session *s)
{
	const struct claim *c = &s->cell.claim;
	struct denial d;

	if (c->denied_path && s->pool &&
	    denial_of_path(&d, c->denied_path, c->denied_errno, &s->pool->plan))
		denials_add(&s->cell.denials, &d);
}

/* Which package has a missing module, trusted code decides; and advice that
   the plan would refuse is not given. */
static void
note_module(struct session *s)
{
	struct claim *c = &s->cell.claim;
	const char *package = c->error && c->missing_module
				      ? module_package_find(c->missing_module)
				      : NULL;

	if (package && s->pool &&
	    plan_takes_package(&s->pool->plan, &s->keeper->host, package))
		claim_add_package(c, package);
}

/* Every result comes with its enforcement, be it that there was no plan. A
   client of another release gets its refusal as the first frame. */
static int
send_enforcement(struct session *s, struct remit_error *err)
{
	const char *rows = s->pool ? s->pool->enforcement
				   : result_rows[RESULT_ENFORCEMENT].nothing;

	if (s->client.protocol != FRAME_PROTOCOL)
		return 0;
	return link_send(&s->client, FRAME_ENFORCEMENT, rows, strlen(rows),
			 err);
}

/* A client that cannot be sent all of it shall not wait for the rest. */
static void
send_answer(struct session *s)
{
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_RESULT].max);
	struct remit_error err;

	if (result_write(&text, s) < 0)
		text.len = 0;
	else
		session_audit(s, &text);
	if (!text.len || send_enforcement(s, &err) < 0 ||
	    (s->stays && link_send(&s->client, FRAME_STAYS, "", 0, &err) < 0) ||
	    link_send(&s->client, FRAME_RESULT, text.data, text.len, &err) < 0)
		s->client_gone = true; /* no memory: the client sees the end */
}

void
session_answer(struct session *s)
{
	bool goes_on = s->life == LIFE_OPEN;

	session_end_fork(s);
	if (session_enter(s, goes_on ? SESSION_IDLE : SESSION_DONE) < 0)
		return;
	s->stays = session_client_stays(s);
	send_answer(s);
	if (goes_on) {
		keeper_note_latency(s->keeper, s->asked_us);
		session_rest(s);
		return;
	}
	session_flush_client(s);
	/* The jail's remains go after the answer, not before. */
	keeper_note_latency(s->keeper, s->asked_us);
	session_part(s);
	keeper_ended(s->keeper, s);
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

void
session_refuse(struct session *s, const struct remit_error *why)
{
	cell_fail(&s->cell, why);
	session_answer(s);
}

void
session_give_files(struct session *s)
{
	if (s->client_gone) {
		session_remove(s);
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
	if (s->client_gone) {
		note_run(s);
		session_remove(s);
		return;
	}
	settle(s);
	end_proxy(s);
	tell(s);
	if (session_is_opened(s))
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
	const struct jail *j = &s->worker->jail;
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

/* The client has sent its standard input to us so far. */
static int
connect_input(struct session *s, struct remit_error *err)
{
	if (!session_is_opened(s))
		s->cell.input.fd = take_fd(&s->worker->in);
	if (feed_flush(&s->cell.input)) {
		feed_free(&s->cell.input);
		return 0;
	}
	return loop_add(&s->keeper->loop, &s->on_in, s->cell.input.fd,
			feed_wants_write(&s->cell.input) ? EPOLLOUT : 0,
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
	return s->pool->plan.write_roots &&
	       !ctime_mark_is_over(&s->committer.begun_at) &&
	       loop_now_us() < s->asked_us + PATIENCE_US;
}

/* A cell whose standard input was not sent reads its end. */
static int
start_cell(struct session *s, struct remit_error *err)
{
	if ((session_is_opened(s) && session_open_stdin(s, err) < 0) ||
	    session_send_job(s, err) < 0)
		return -1;
	session_flush_channel(s);
	/* The rest while the code runs: its end is what the client waits for.
	 */
	return connect_input(s, err);
}

void
session_start(struct session *s)
{
	struct remit_error err;

	if (must_wait(s)) {
		loop_set_timer(&s->keeper->loop, &s->timer,
			       loop_now_us() + ctime_mark_tick_us() / 2);
		return;
	}
	if (session_is_open(s) && s->cell.arrival != CELL_COMPLETE) {
		session_tell_opened(s);
		return;
	}
	if (start_cell(s, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	if (!session_is_opened(s))
		cgroup_open_peaks(&s->worker->jail.group);
	keeper_await(s->keeper);
}

void
session_take(struct session *s, struct worker *i)
{
	struct remit_error err;

	s->worker = i;
	i->session = s;
	i->state = WORKER_TAKEN;
	set_captures(s);
	if (session_hear_questions(s, &err) < 0)
		session_fail(s, &err);
	else
		session_post(s, SESSION_TAKEN);
}

int
session_plan(struct session *s, bool many, struct remit_error *err)
{
	enum pool_use use = !many			? POOL_RUNS
			    : s->wishes & WISH_FORKABLE ? POOL_FORKABLE
							: POOL_SESSIONS;
	struct pool *p = s->pool;

	if (p)
		return 0;
	p = pool_for(s->keeper, &s->policy, &s->package_layer,
		     buf_text(&s->policy_text), s->policy_text.len, use, err);
	if (!p)
		return -1;
	s->pool = pool_use(p);
	return 0;
}

uint64_t
session_cpu_limit_ms(const struct session *s)
{
	const struct plan *plan = &s->pool->plan;
	uint64_t ms = s->pool->policy.cpu_ms;

	return ms != POLICY_UNLIMITED && (plan->limits.cpu_cgroup_ms ||
					  plan->limits.cpu_rlimit_s ||
					  plan->limits.cpu_clock_ms)
		       ? ms
		       : 0;
}

static int
seek(struct session *s, struct remit_error *err)
{
	if (session_plan(s, session_is_open(s), err) < 0)
		return -1;
	s->cell.facts.cpu_limit_ms = session_cpu_limit_ms(s);
	if (inputs_check(&s->cell.files, &s->pool->plan, err) < 0 ||
	    (tiers[s->pool->plan.tier].jailed &&
	     keeper_check_lock(s->keeper, err) < 0))
		return -1;
	return pool_serve(s->pool, s, err);
}

/* ---- what is done about events ---- */

static void
begin(struct session *s)
{
	struct remit_error err;

	if (s->cell.arrival == CELL_COMPLETE && session_is_opened(s)) {
		session_begin_cell(s);
		return;
	}
	if (session_enter(s, SESSION_SEEKING) < 0)
		return;
	s->committer.begun_at = ctime_mark_latest();
	if (audit_writer_check(&s->keeper->audit_writer, &err) < 0 ||
	    seek(s, &err) < 0)
		session_fail(s, &err);
}

static void
turn_away(struct session *s)
{
	struct remit_error err;

	fail(&err, REMIT_E_BUSY, "%d runs are waiting already",
	     KEEPER_WAITING_MAX);
	/* A cell that must not wait costs no variables. */
	if (s->cell.arrival == CELL_COMPLETE && session_is_opened(s))
		session_refuse(s, &err);
	else
		session_fail(s, &err);
}

static void
fail_cell(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
	session_die(s);
}

/* Its answer is on its way, and says this. */
static void
note_trouble(struct session *s)
{
	cell_fail(&s->cell, &s->queue.trouble);
}

static void
leave(struct session *s)
{
	if (s->worker)
		session_die(s);
	else
		session_remove(s);
}

static void
interrupt_early(struct session *s)
{
	/* A cell that is not there yet gets it when it begins. */
	if (!session_is_opened(s))
		session_die(s);
}

static void
interrupt_code(struct session *s)
{
	jail_interrupt(&s->worker->jail);
	/* A cell has its own deadline, and variables that would be lost. */
	if (session_is_open(s))
		return;
	cell_clock_hurry(&s->clock, loop_now_us() + SESSION_GRACE_US);
	session_set_timer(s);
}

/* The jail may be on its way out, and its end says more than we can. */
static void
lose_channel(struct session *s)
{
	if (session_is_opened(s))
		session_hasten(s);
}

static void
lose_resting_channel(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "the code has closed its channel");
	session_lose(s, &why);
}

/* The moment is over that its worker waits for: see session_start(). */
static void
start_again(struct session *s)
{
	if (s->worker && s->worker->state == WORKER_TAKEN)
		session_start(s);
}

/* It ended between two cells, and its client does not wait for it. */
static void
lose_worker(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "its interpreter ended after cell %u",
	     s->cells);
	session_lose(s, &why);
}

static void
sent(struct session *s)
{
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

/* All that is done about an event, by the state in which it comes; in the
   others it means nothing any more, or cannot come. */
typedef void reaction(struct session *s);

#define UNTIL_JAIL  SESSION_READING... SESSION_SEEKING
#define IN_CELL	    SESSION_CHECKING... SESSION_RUNNING
#define RESTING	    SESSION_IDLE... SESSION_SAVING
#define WITH_WORKER SESSION_WAITING... SESSION_SEEKING
#define AFTERWARDS  SESSION_DYING... SESSION_EXPORTING

static reaction *const reactions[SESSION_EVENTS][SESSION_STATES] = {
	[SESSION_FAILED] = {
		[UNTIL_JAIL] = fail_cell,
		[RESTING] = session_fail_resting,
		[IN_CELL] = fail_cell,
		[AFTERWARDS] = note_trouble,
	},
	/* What is being written to the host is seen to its end. */
	[SESSION_LEFT] = {
		[UNTIL_JAIL] = leave,
		[SESSION_IDLE] = session_remove,
		[SESSION_FILING] = session_remove,
		[IN_CELL] = leave,
		[SESSION_EXPORTING] = session_remove,
		[SESSION_DONE] = session_remove,
	},
	[SESSION_INTERRUPTED] = {
		[UNTIL_JAIL] = interrupt_early,
		[SESSION_CHECKING] = interrupt_early,
		[SESSION_RUNNING] = interrupt_code,
	},
	[SESSION_REQUESTED] = {
		[SESSION_READING] = session_do_request,
		[SESSION_IDLE] = session_do_request,
		[SESSION_FILING] = session_do_request,
	},
	[SESSION_BUSY] = {
		[SESSION_WAITING] = turn_away,
	},
	[SESSION_ADMITTED] = {
		[SESSION_WAITING] = begin,
	},
	[SESSION_TAKEN] = {
		[SESSION_SEEKING] = session_start,
	},
	[SESSION_SAID] = {
		[IN_CELL] = session_hear_end,
	},
	[SESSION_OVER] = {
		[WITH_WORKER] = session_die,
		[IN_CELL] = session_die,
	},
	[SESSION_CODE_ENDED] = {
		[WITH_WORKER] = session_end_code,
		[RESTING] = lose_worker,
		[IN_CELL] = session_end_code,
	},
	[SESSION_JAIL_DEAD] = {
		[WITH_WORKER] = session_end_jail,
		[RESTING] = lose_worker,
		[IN_CELL] = session_end_jail,
		[SESSION_DYING] = session_end_jail,
	},
	[SESSION_CHANNEL_LOST] = {
		[RESTING] = lose_resting_channel,
		[IN_CELL] = lose_channel,
	},
	[SESSION_RANG] = {
		[SESSION_SEEKING] = start_again,
		[SESSION_IDLE] = session_tick_resting,
		[SESSION_FILING] = session_tick_resting,
		[SESSION_SAVING] = session_commit_stop,
		[IN_CELL] = session_tick,
		[SESSION_COMMITTING] = session_commit_stop,
		[SESSION_EXPORTING] = session_export_more,
	},
	[SESSION_COMMITTED] = {
		[SESSION_SAVING] = session_committed,
		[SESSION_COMMITTING] = session_committed,
	},
	[SESSION_SENT] = {
		[SESSION_EXPORTING] = session_export_more,
		[SESSION_DONE] = sent,
	},
};

static bool
has_unread(const struct session *s)
{
	const struct link *l = s->worker ? &s->worker->jail.channel : NULL;

	return l && !l->ended && l->parsed < l->in.len &&
	       s->worker->state == WORKER_TAKEN && s->state < SESSION_DYING &&
	       !s->queue.events;
}

static void
work(void *owner)
{
	struct session *s = owner;
	enum session_event event;

	do {
		while ((event = session_queue_next(&s->queue)) !=
		       SESSION_EVENTS)
			if (reactions[event][s->state])
				reactions[event][s->state](s);
		/* The frames after the one that was worked off. */
		session_read_frames(s);
		if (has_unread(s))
			session_read_channel(s);
	} while (s->queue.events);
}

static void
on_timer(void *owner)
{
	session_post(owner, SESSION_RANG);
}

void
session_post(struct session *s, enum session_event event)
{
	session_queue_add(&s->queue, &s->keeper->loop, event);
}

void
session_fail(struct session *s, const struct remit_error *why)
{
	session_queue_fail(&s->queue, &s->keeper->loop, why);
}

int
session_enter(struct session *s, enum session_state next)
{
	struct remit_error err;

	if (session_state_may(s->state, next)) {
		s->state = next;
		return 0;
	}
	fail(&err, REMIT_E_INTERNAL, "a session that is %s cannot be %s",
	     session_state_name(s->state), session_state_name(next));
	fprintf(stderr, "remit: %s\n", err.message);
#ifdef REMIT_TESTS
	abort();
#endif
	session_fail(s, &err);
	return -1;
}

void
session_remove(struct session *s)
{
	if (s->state != SESSION_DONE && session_enter(s, SESSION_DONE) < 0)
		return;
	keeper_remove(s->keeper, s);
}
