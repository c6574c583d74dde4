/*
 * session_fork: makes a branch of a session when its client requests one. The
 * branch is a separate session from the start, with a separate connection to
 * the client, which the request carries as a descriptor. The keeper answers on
 * that connection: the branch is open, or why it failed. Meanwhile the original
 * session stays idle.
 */
#include <string.h>

#include "keeper/pool/branch.h"
#include "keeper/session/part.h"
#include "wire/record.h"

static int
parse_branch_options(struct session *b, const struct frame *f,
		     struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		if (strcmp(r.key, "artifacts"))
			return fail(err, REMIT_E_PROTOCOL,
				    "unknown member \"%.40s\" in a request for "
				    "a branch",
				    r.key);
		b->options |= SESSION_OPTION_ARTIFACTS;
	}
	return 0;
}

static bool
has_free_slot(const struct worker *root)
{
	for (int i = 0; i < PLAN_BRANCHES_MAX; i++)
		if (root->jail.slots[i] >= 0)
			return true;
	return false;
}

static int
check_can_fork(const struct session *s, struct remit_error *err)
{
	if (!s->pool->plan.forkable)
		return fail_refused(err, "forkable",
				    "Open the session with forkable set.",
				    "this session cannot have branches: it was "
				    "opened without forkable");
	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	if (s->worker->root->jail.listener < 0)
		return fail_refused(err, "forkable",
				    "Use a kernel and a container that allow "
				    "seccomp_unotify(2).",
				    "Remit cannot intercept system calls here, "
				    "and so cannot allow the code to fork");
	if (!has_free_slot(s->worker->root))
		return fail_refused(
			err, "branches", "Raise branches.",
			"the session and its branches have already made %llu "
			"branches, the maximum of this policy",
			(unsigned long long)session_policy(s)->branches);
	if (keeper_is_full(s->keeper))
		return fail(err, REMIT_E_BUSY, "too many jails are running");
	return 0;
}

static int
begin_branch(struct session *s, struct session *b, const struct frame *f,
	     struct remit_error *err)
{
	if (parse_branch_options(b, f, err) < 0 || check_can_fork(s, err) < 0)
		return -1;
	if (keeper_reserve_session(s->keeper) < 0)
		return fail(err, REMIT_E_BUSY,
			    "too many open sessions (limit %d)",
			    KEEPER_SESSIONS_MAX);
	cell_make_id(b->open_id);
	b->life = LIFE_OPENING;
	memcpy(b->branch_of, s->open_id, sizeof(b->branch_of));
	b->options |= SESSION_OPTION_FORKABLE;
	b->cell.facts.cpu_limit_ms = s->cell.facts.cpu_limit_ms;
	b->cells = s->cells;
	b->display.mode = s->display.mode;
	if (bridge_copy(&b->bridge, &s->bridge, err) < 0)
		return -1;
	return worker_new_branch(b, s->worker, err) ? 0 : -1;
}

int
session_fork(struct session *s, const struct frame *f, struct remit_error *err)
{
	int client = take_fd(&s->client.passed_fd);
	struct remit_error why;
	struct session *b;

	if (client < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "a request for a branch carries no descriptor of "
			    "the branch's connection");
	b = keeper_add_client(s->keeper, client);
	if (!b)
		return 0; /* if memory is short, the client sees the connection
			     close */
	b->pool = pool_ref(s->pool);
	if (session_enter(b, SESSION_SEEKING) < 0)
		return 0;
	b->requested_us = loop_now_us();
	s->branch = b;
	b->origin = s;
	if (begin_branch(s, b, f, &why) < 0)
		session_fail(b, &why);
	session_start_idle_timer(s);
	return 0;
}

/* Called when the branch `b` is open or has failed: its origin may continue. */
void
session_end_fork(struct session *b)
{
	struct session *s = b->origin;

	b->origin = NULL;
	if (!s)
		return;
	s->branch = NULL;
	if (s->state == SESSION_IDLE)
		session_start_idle_timer(s);
}

int
session_recv_forked(struct session *s, const struct frame *f,
		    struct remit_error *err)
{
	struct step_report r;

	if (!s->worker->fork_requested || f->len != sizeof(r))
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected frame \"forked\"");
	memcpy(&r, f->payload, sizeof(r));
	branch_forked(s->worker, &r);
	return 0;
}
