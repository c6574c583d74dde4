/*
 * session_export: files leave a session's jail when all in it is dead. Step by
 * step, so that other sessions do not wait, and no faster than the door reads.
 */
#include "harvest.h"
#include "session_part.h"

/* How long others may have to wait. */
#define SLICE_US 1000

static bool
exports(const struct session *s)
{
	return s->wants_artifacts && s->pool && s->pool->plan.exports;
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
	if (exports(s) && s->inmate && !s->failed)
		s->workspace = take_fd(&s->inmate->jail.harvest);
}

void
session_forget_files(struct session *s)
{
	if (s->harvest)
		harvest_free(s->harvest);
	free(s->harvest);
	s->harvest = NULL;
	own_fd_close(&s->workspace);
	s->workspace = -1;
}

static void
give_up(struct session *s, const struct remit_error *err)
{
	s->error = *err;
	s->failed = true;
	s->harvest->over = true;
}

bool
session_export(struct session *s)
{
	uint64_t time_us = session_policy(s)->artifact_time_ms * 1000;
	struct remit_error err;

	if (s->workspace < 0)
		return false;
	s->harvest = malloc(sizeof(*s->harvest));
	if (!s->harvest)
		return false;
	*s->harvest = (struct harvest)HARVEST_INIT;
	s->state = SESSION_EXPORTING;
	s->deadline_us = loop_now_us() + time_us;
	if (harvest_open(s->harvest, &s->pool->plan, take_fd(&s->workspace),
			 &err) < 0)
		give_up(s, &err);
	return true;
}

static int
work(struct session *s, struct remit_error *err)
{
	uint64_t now = loop_now_us(), end = now + SLICE_US;

	while (!s->harvest->over && now < end &&
	       link_backlog(&s->door) < DOOR_BACKLOG) {
		if (harvest_step(s->harvest, &s->door, err) < 0)
			return -1;
		now = loop_now_us();
	}
	return now < s->deadline_us ? 0 : harvest_stop(s->harvest, err);
}

void
session_export_more(struct session *s)
{
	uint64_t at = loop_now_us();
	struct remit_error err;

	if (work(s, &err) < 0)
		give_up(s, &err);
	if (s->harvest->over) {
		session_answer(s);
		return;
	}
	session_flush_door(s);
	if (s->door_gone) {
		keeper_remove(s->keeper, s);
		return;
	}
	/* A door that does not read has until the deadline. */
	if (link_backlog(&s->door) >= DOOR_BACKLOG)
		at = s->deadline_us;
	loop_set_timer(&s->keeper->loop, &s->timer, at);
}
