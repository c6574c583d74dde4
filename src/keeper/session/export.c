/*
 * session_export: files leave a session's jail when all in it is dead. Step by
 * step, so that other sessions do not wait, and no faster than the client
 * reads.
 */
#include "keeper/output/export.h"
#include "keeper/session/part.h"

/* How long others may have to wait. */
#define SLICE_US 1000

static bool
exports(const struct session *s)
{
	return s->wishes & WISH_ARTIFACTS && s->pool && s->pool->plan.exports;
}

bool
session_is_looked_into(const struct session *s)
{
	return exports(s) || (s->pool && s->pool->plan.write_roots);
}

/* A jail that never was has nothing to give. */
void
session_take_workspace(struct session *s)
{
	if (exports(s) && s->worker && !cell_has_failed(&s->cell))
		s->cell.workspace = take_fd(&s->worker->jail.export);
}

static void
give_up(struct session *s, const struct remit_error *err)
{
	cell_fail(&s->cell, err);
	s->cell.export->over = true;
}

bool
session_export(struct session *s)
{
	uint64_t time_us = session_policy(s)->artifact_time_ms * 1000;
	struct remit_error err;

	if (s->cell.workspace < 0)
		return false;
	s->cell.export = malloc(sizeof(*s->cell.export));
	if (!s->cell.export) {
		fail_sys(&err, REMIT_E_MEMORY, "artifacts");
		cell_fail(&s->cell, &err);
		return false;
	}
	*s->cell.export = (struct export)EXPORT_INIT;
	if (session_enter(s, SESSION_EXPORTING) < 0)
		return false;
	s->clock.deadline_us = loop_now_us() + time_us;
	if (export_open(s->cell.export, &s->pool->plan,
			take_fd(&s->cell.workspace), &err) < 0)
		give_up(s, &err);
	return true;
}

static int
work(struct session *s, struct remit_error *err)
{
	uint64_t now = loop_now_us(), end = now + SLICE_US;

	while (!s->cell.export->over && now < end &&
	       link_backlog(&s->client) < CLIENT_BACKLOG) {
		if (export_step(s->cell.export, &s->client, err) < 0)
			return -1;
		now = loop_now_us();
	}
	return now < s->clock.deadline_us ? 0
					  : export_stop(s->cell.export, err);
}

void
session_export_more(struct session *s)
{
	uint64_t at = loop_now_us();
	struct remit_error err;

	if (work(s, &err) < 0)
		give_up(s, &err);
	if (s->cell.export->over) {
		session_answer(s);
		return;
	}
	session_flush_client(s);
	if (s->client_gone) {
		session_remove(s);
		return;
	}
	/* A client that does not read has until the deadline. */
	if (link_backlog(&s->client) >= CLIENT_BACKLOG)
		at = s->clock.deadline_us;
	loop_set_timer(&s->keeper->loop, &s->timer, at);
}
