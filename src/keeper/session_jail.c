/*
 * session_jail: what comes out of a session's jail: output, frames, the end.
 */
#include <string.h>
#include <sys/wait.h>

#include "session_part.h"
#include "task.h"

static void
drain(struct session *s, struct capture *c, struct source *src)
{
	struct remit_error err;

	if (capture_drain(c, &s->door, &err) < 0) {
		session_give_up(s, &err);
		return;
	}
	if (c->ended)
		loop_remove(&s->keeper->loop, src);
	if (capture_is_over_ceiling(c)) {
		s->facts.over_ceiling = true;
		session_die(s);
	}
	session_flush_door(s);
}

void
session_on_out(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	drain(s, &s->out, &s->on_out);
}

void
session_on_err(void *owner, uint32_t events)
{
	struct session *s = owner;

	(void)events;
	drain(s, &s->err, &s->on_err);
}

int
session_send_task(struct session *s, struct remit_error *err)
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
	s->began_us = session_now_us();
	s->deadline_us = 0;
	if (s->policy.timeout_ms != POLICY_UNLIMITED &&
	    plan_keeps(&s->plan, MECH(TIMER)))
		s->deadline_us = s->began_us + s->policy.timeout_ms * 1000;
	session_set_timer(s);
	session_check_cpu(s);
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
	return session_send_task(s, err);
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
		session_die(s);
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

void
session_flush_channel(struct session *s)
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
void
session_on_channel(void *owner, uint32_t events)
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
				session_give_up(s, &err);
				return;
			}
			l->ended = true;
			break;
		}
	} while (f.type != FRAME_NONE && s->state < SESSION_DYING);
	if (l->ended)
		loop_remove(&s->keeper->loop, &s->on_channel);
	else
		session_flush_channel(s);
}

/* The end may be seen before the last words are read. */
static void
read_last_words(struct session *s)
{
	uint32_t frames = frame_rules[FRAME_ENDED].max / FRAME_PIECE + 2;

	while (frames-- && s->state == SESSION_RUNNING &&
	       !s->jail.channel.ended)
		session_on_channel(s, EPOLLIN);
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

void
session_on_lifeline(void *owner, uint32_t events)
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
		s->ended_us = session_now_us();
		read_last_words(s);
		note_early_end(s);
		session_die(s);
	}
}

/* Everything in the jail is dead now: nobody writes any more. */
void
session_on_init(void *owner, uint32_t events)
{
	struct session *s = owner;
	int status = 0;

	(void)events;
	if (!jail_is_dead(&s->jail, &status))
		return;
	read_last_words(s);
	if (s->jail.unjailed) {
		s->facts.has_wait_status = true;
		s->facts.wait_status = status;
	} else if (!s->facts.has_wait_status && s->state != SESSION_DYING) {
		s->facts.init_died = true;
	}
	note_early_end(s);
	if (!s->ended_us)
		s->ended_us = session_now_us();
	s->state = SESSION_DYING;
	session_finish(s);
}
