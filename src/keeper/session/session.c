#include "keeper/session/session.h"

#include <stdio.h>

#include "keeper/session/part.h"

static void on_timer(void *owner);

static struct session *
session_alloc(struct keeper *k)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct session){
		.keeper = k,
		.client = LINK_INIT,
		.policy_text = BUF_INIT(frame_rules[FRAME_POLICY].max),
		.display.mode = DISPLAYS_ALL,
		.cell = CELL_INIT,
		.bridge = BRIDGE_INIT,
		.package_layer = PACKAGE_LAYER_INIT,
		.out = { .fd = -1 },
		.err = { .fd = -1 },
		.stdin_pipe = -1,
		.committer = COMMITTER_INIT,
		.queue.work = { .run = session_run_events, .owner = s },
		.timer = { .ring = on_timer, .owner = s },
		.on_client = SOURCE_INIT,
		.on_in = SOURCE_INIT,
		.on_proxy = SOURCE_INIT,
	};
	cell_make_id(s->cell.id);
	return s;
}

static void
open_client_link(struct session *s, int client_fd)
{
	link_open(&s->client, client_fd, PARTY_CLIENT);
	s->client.receives_fds = true;
}

struct session *
session_new(struct keeper *k, int client_fd)
{
	struct session *s = session_alloc(k);
	struct remit_error err;

	if (!s) {
		close(client_fd);
		return NULL;
	}
	open_client_link(s, client_fd);
	if (loop_add(&k->loop, &s->on_client, client_fd, EPOLLIN,
		     session_on_client, s, &err) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

struct session *
session_successor(struct session *s)
{
	struct session *next;

	if (s->state != SESSION_DONE || !s->stays || s->client_gone ||
	    s->client.ended || link_wants_write(&s->client))
		return NULL;
	next = session_alloc(s->keeper);
	if (!next)
		return NULL; /* if memory is short, the client sees the
				connection close */
	next->follows_another = true;
	open_client_link(next, take_fd(&s->client.fd));
	loop_move(&s->keeper->loop, &s->on_client, &next->on_client, next);
	return next;
}

void
session_detach_worker(struct session *s)
{
	commands_free(s->beside.commands);
	ports_free(s->beside.ports);
	if (s->worker)
		watching_free(s->worker->watching);
	session_drop_question(s);
	session_drop_packages(s);
	loop_remove(&s->keeper->loop, &s->on_proxy);
	loop_remove(&s->keeper->loop, &s->on_in);
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	if (s->worker)
		worker_release(s->worker);
	s->worker = NULL;
}

void
session_free(struct session *s)
{
	session_audit(s, NULL);
	session_detach_worker(s);
	session_end_fork(s);
	if (s->branch)
		s->branch->origin = NULL;
	loop_remove(&s->keeper->loop, &s->on_client);
	loop_undefer(&s->keeper->loop, &s->queue.work);
	network_list_free(s->network.list);
	if (s->pool) {
		pool_unserve(s->pool, s);
		pool_unref(s->pool);
	}
	link_free(&s->client);
	policy_free(&s->policy);
	package_layer_free(&s->package_layer);
	buf_free(&s->policy_text);
	bridge_free(&s->bridge);
	own_fd_close(&s->stdin_pipe);
	committer_free(&s->committer, &s->keeper->loop);
	free(s->network.before);
	secrets_free(&s->secrets);
	cell_free(&s->cell);
	free(s);
}

const struct policy *
session_policy(const struct session *s)
{
	return s->pool ? &s->pool->policy : &s->policy;
}

/* ---- the beginning ---- */

static void
init_captures(struct session *s)
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

/* `ended` stays set: a pipe without writers stays at its end. */
void
session_reset_captures(struct session *s)
{
	s->out.total_bytes = s->out.kept_bytes = 0;
	s->err.total_bytes = s->err.kept_bytes = 0;
}

/* Gives the jail the client's standard input, which the keeper has buffered
   until now. */
static int
connect_stdin(struct session *s, struct remit_error *err)
{
	if (!session_is_opened(s))
		s->cell.input.fd = take_fd(&s->worker->in);
	if (feed_flush(&s->cell.input)) {
		feed_free(&s->cell.input);
		return 0;
	}
	return loop_add(&s->keeper->loop, &s->on_in, s->cell.input.fd,
			feed_wants_write(&s->cell.input) ? EPOLLOUT : 0,
			session_on_stdin, s, err);
}

/* The maximum wait for a tick. If the clock was set back, the tick may not
   come. Then everything in the directory looks newer than the run, and none of
   it is replaced. */
#define CTIME_WAIT_MAX_US 100000

/* Before the code starts, wait for a tick of the clock, so that earlier changes
   by others have another time than later ones. */
static bool
must_wait_for_tick(const struct session *s)
{
	return s->pool->plan.write_roots &&
	       !ctime_mark_is_over(&s->committer.begun_at) &&
	       loop_now_us() < s->requested_us + CTIME_WAIT_MAX_US;
}

/* If the client sends no standard input, the cell reads end-of-file. */
static int
start_cell(struct session *s, struct remit_error *err)
{
	if ((session_is_opened(s) && session_open_stdin(s, err) < 0) ||
	    session_send_job(s, err) < 0)
		return -1;
	session_flush_channel(s);
	/* Connect the input after sending the code: the client waits for the
	   end of the code. */
	return connect_stdin(s, err);
}

void
session_start(struct session *s)
{
	struct remit_error err;

	if (must_wait_for_tick(s)) {
		loop_set_timer(&s->keeper->loop, &s->timer,
			       loop_now_us() + ctime_mark_tick_us() / 2);
		return;
	}
	if (session_has_cells(s) && s->cell.arrival != CELL_COMPLETE) {
		session_send_opened(s);
		return;
	}
	if (start_cell(s, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	if (!session_is_opened(s))
		cgroup_open_peaks(&s->worker->jail.group);
	keeper_stay_awake(s->keeper);
}

void
session_attach_worker(struct session *s, struct worker *i)
{
	struct remit_error err;

	s->worker = i;
	i->session = s;
	i->state = WORKER_IN_USE;
	init_captures(s);
	if (session_watch_questions(s, &err) < 0 ||
	    session_apply_network(s, &err) < 0)
		session_fail(s, &err);
	else
		session_post(s, SESSION_GOT_WORKER);
}

int
session_ensure_plan(struct session *s, bool many, struct remit_error *err)
{
	enum pool_use use = !many ? POOL_RUNS
			    : s->options & SESSION_OPTION_FORKABLE
				    ? POOL_FORKABLE
				    : POOL_SESSIONS;
	struct pool *p = s->pool;
	const char *text;

	if (p)
		return 0;
	/* The text of another mode is not that of the pool's policy. */
	text = s->display.mode == DISPLAYS_ALL ? buf_text(&s->policy_text)
					       : NULL;
	p = pool_for(s->keeper, &s->policy, &s->package_layer, text,
		     s->policy_text.len, use, err);
	if (!p)
		return -1;
	s->pool = pool_ref(p);
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

/* ---- its state ---- */

static void
on_timer(void *owner)
{
	session_post(owner, SESSION_TIMER);
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
	fail(&err, REMIT_E_INTERNAL,
	     "a session cannot change from state %s to %s",
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
