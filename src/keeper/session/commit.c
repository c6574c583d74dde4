/*
 * session_commit: when a session's changes of host directories are written, and
 * whether (keeper/session/committer.c writes them).
 *
 * Usually everything in the jail is dead by then. If the client requests a
 * commit between two cells, the session's only process is stopped meanwhile.
 */
#include "base/deadline.h"
#include "keeper/output/result.h"
#include "keeper/session/part.h"

static void
on_report(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	if (committer_read(&s->committer))
		session_post(s, SESSION_COMMITTED);
}

void
session_committed(struct session *s)
{
	bool saved = s->state == SESSION_SAVING;
	struct remit_error err;

	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	if (committer_finish(&s->committer, &s->keeper->loop, &s->cell.changes,
			     &err) < 0)
		cell_fail(&s->cell, &err);
	if (!saved) {
		session_export_or_answer(s);
		return;
	}
	if (s->worker)
		jail_resume(&s->worker->jail);
	if (s->client_gone)
		session_remove(s);
	else
		session_answer(s);
}

/* Returns whether the policy allows to write: after a good end or on request,
   always, or never. */
static bool
may_commit(const struct session *s)
{
	switch ((enum commit_when)session_policy(s)->commit) {
	case COMMIT_OK:
		return s->state == SESSION_SAVING ||
		       result_status(s) == STATUS_OK;
	case COMMIT_ALWAYS:
		return true;
	case COMMIT_NEVER:
		break;
	}
	return false;
}

/* Starts the committer for the state that the session is in. */
static int
start_committer(struct session *s, struct remit_error *err)
{
	bool saving = s->state == SESSION_SAVING;
	struct commit_params o = {
		.plan = &s->pool->plan,
		.roots = s->worker->jail.write_roots,
		.since = s->committer.since,
		.runtime_dir = s->keeper->site.runtime_dir,
		.goes_on = saving,
		.prior = &s->committer.prior,
	};

	s->cell.was_committed = may_commit(s);
	o.dry = !s->cell.was_committed;
	return committer_start(&s->committer, &s->keeper->loop, &o,
			       saving ? s->worker->jail.run_pid : 0, on_report,
			       s, err);
}

bool
session_commit(struct session *s)
{
	struct remit_error err;

	if (!s->pool || !s->pool->plan.write_roots || !s->worker ||
	    cell_has_failed(&s->cell) || !s->cell.began_us ||
	    session_enter(s, SESSION_COMMITTING) < 0)
		return false;
	if (start_committer(s, &err) == 0)
		return true;
	cell_fail(&s->cell, &err);
	return false;
}

/* Returns -1 if the session cannot commit between two cells. */
static int
check_can_commit(const struct session *s, struct remit_error *err)
{
	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	if (!s->pool->plan.write_roots)
		return fail_refused(err, "filesystem_write_roots",
				    "Open the session with --write.",
				    "this session has no folder of mode rw");
	if (s->pool->plan.limits.many_processes)
		return fail_refused(
			err, "subprocess_execution",
			"Close the session: that commits the changes.",
			"changes of several processes cannot be committed "
			"while they run");
	return 0;
}

int
session_commit_now(struct session *s, const struct frame *f,
		   struct remit_error *err)
{
	struct remit_error why;

	(void)f;
	(void)err;
	/* A commit has no code, and so ends well unless something fails. */
	s->cell.facts.closed = true;
	s->requested_us = loop_now_us();
	if (check_can_commit(s, &why) < 0) {
		session_refuse_cell(s, &why);
		return 0;
	}
	if (session_enter(s, SESSION_SAVING) < 0)
		return 0;
	jail_stop(&s->worker->jail);
	if (start_committer(s, &why) == 0) {
		session_start_commit_timer(s);
		return 0;
	}
	jail_resume(&s->worker->jail);
	session_refuse_cell(s, &why);
	return 0;
}

void
session_start_commit_timer(struct session *s)
{
	loop_set_timer(&s->keeper->loop, &s->timer,
		       loop_now_us() + deadline_us(DEADLINE_COMMIT));
}

void
session_stop_commit(struct session *s)
{
	committer_stop(&s->committer);
}
