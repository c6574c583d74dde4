/*
 * session_jail: what comes out of a session's jail: output, frames, the end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "session_part.h"
#include "task.h"

/* Of programs that are done sooner the output is read at their end: to look at
   each line would take them longer than they run. */
#define SHORT_US 1000

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
		/* Whoever writes on until it is killed waits for a reader. */
		loop_remove(&s->keeper->loop, src);
		session_die(s);
	}
	session_flush_door(s);
}

void
session_on_out(struct session *s)
{
	/* Between cells nobody reads: what is there is the next one's. This is
	   only the end. */
	if (session_rests(s))
		loop_remove(&s->keeper->loop, &s->inmate->on_out);
	else if (s->out.fd >= 0)
		drain(s, &s->out, &s->inmate->on_out);
}

void
session_on_err(struct session *s)
{
	if (session_rests(s))
		loop_remove(&s->keeper->loop, &s->inmate->on_err);
	else if (s->err.fd >= 0)
		drain(s, &s->err, &s->inmate->on_err);
}

static int
send_code(struct session *s, struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_JOB].max);
	struct link *channel = &s->inmate->jail.channel;
	char cell[32];
	struct task_job job = {
		.name = s->name ? s->name : "main.py",
		.argv = &s->argv,
		.code_len = s->code.len,
		.interactive = s->interactive,
		.context = s->context,
		.fresh = s->fresh,
		.env = &s->env,
		.stirred = s->was_stirred,
	};

	if (s->opened && !s->name) {
		snprintf(cell, sizeof(cell), "<cell %u>", s->cells);
		job.name = cell;
	}
	if (task_write_job(&records, &job, err) < 0 ||
	    session_tell_tools(s, err) < 0 ||
	    inputs_send(&s->files, channel, err) < 0 ||
	    link_send(channel, FRAME_JOB, records.data, records.len, err) < 0 ||
	    link_send_pieces(channel, FRAME_CODE, s->code.data, s->code.len,
			     err) < 0)
		return -1;
	s->code_bytes = s->code.len;
	buf_free(&s->code);
	return 0;
}

static uint64_t
deadline_of(const struct session *s)
{
	uint64_t ms;

	if (s->closing)
		return s->began_us + SESSION_GRACE_US;
	/* Without a limit it is the largest number there is. */
	ms = plan_keeps(&s->pool->plan, MECH(TIMER))
		     ? s->pool->policy.timeout_ms
		     : POLICY_UNLIMITED;
	if (s->timeout_ms && s->timeout_ms < ms)
		ms = s->timeout_ms;
	return ms == POLICY_UNLIMITED ? 0 : s->began_us + ms * 1000;
}

int
session_send_job(struct session *s, struct remit_error *err)
{
	struct link *channel = &s->inmate->jail.channel;
	bool checked = task_is_checked(&s->pool->plan) && !s->closing;

	if (cpu_share_join(&s->keeper->cpu_shares, &s->inmate->cpu_share,
			   &s->inmate->jail.group, s->tenant, err) < 0)
		return -1;
	if (s->closing ? link_send(channel, FRAME_CLOSE, "", 0, err) < 0
		       : send_code(s, err) < 0)
		return -1;
	s->state = checked ? SESSION_CHECKING : SESSION_RUNNING;
	session_check_cpu(s);
	if (!s->opened && s->pool->plan.write_roots)
		s->since = stamp_now();
	s->began_us = loop_now_us();
	s->output_us = s->began_us + SHORT_US;
	s->deadline_us = deadline_of(s);
	session_hold_reset(s);
	session_set_timer(s);
	return 0;
}

static int
take_checked(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state != SESSION_CHECKING)
		return fail(err, REMIT_E_PROTOCOL, "checked at a wrong time");
	if (claim_parse_checked(&s->claim, f->payload, f->len, err) < 0)
		return -1;
	if (s->opened && s->claim.kind == CLAIM_REJECTED) {
		s->ended_us = loop_now_us();
		session_end_cell(s);
		return 0;
	}
	s->facts.checked_only = s->pool->plan.tier == TIER_STATIC;
	if (s->claim.kind == CLAIM_REJECTED || s->facts.checked_only) {
		session_die(s);
		return 0;
	}
	s->state = SESSION_RUNNING;
	if (s->facts.interrupted)
		jail_interrupt(&s->inmate->jail);
	return link_send(&s->inmate->jail.channel, FRAME_GO, "", 0, err);
}

/*
 * The program says that it is done: it waits to be killed, and the answer does
 * not wait for that, unless files are to leave.
 */
static int
take_ended(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state != SESSION_RUNNING)
		return fail(err, REMIT_E_PROTOCOL, "ended before it began");
	if (claim_parse_ended(&s->claim, f->payload, f->len, err) < 0)
		return -1;
	if (!s->claim.has_exit_code || s->facts.has_wait_status)
		return 0;
	s->ended_us = loop_now_us();
	jail_sample(&s->inmate->jail, &s->exit);
	if (s->opened && !s->closing)
		session_end_cell(s);
	else if (session_is_looked_into(s))
		session_die(s);
	else
		session_finish(s);
	return 0;
}

/* Whoever types sees first what the code has written. */
static int
take_ask(struct session *s, struct remit_error *err)
{
	if (s->state != SESSION_RUNNING || !s->interactive)
		return fail(err, REMIT_E_PROTOCOL, "nobody can be asked");
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
	if (link_send(&s->door, FRAME_ASK, "", 0, err) < 0)
		return -1;
	session_flush_door(s);
	return 0;
}

static int
take_jail_frame(struct session *s, const struct frame *f,
		struct remit_error *err)
{
	switch (f->type) {
	case FRAME_CHECKED:
		return take_checked(s, f, err);
	case FRAME_ENDED:
		return take_ended(s, f, err);
	case FRAME_ASK:
		return take_ask(s, err);
	case FRAME_FILE_BYTES:
	case FRAME_FILE_ANSWER:
		return session_take_file_answer(s, f, err);
	case FRAME_FORKED:
		return session_take_forked(s, f, err);
	case FRAME_DISPLAY:
		return session_take_display(s, f, err);
	case FRAME_DISPLAY_DATA:
		return session_take_display_data(s, f, err);
	case FRAME_CALL:
	case FRAME_CALL_DATA:
		return session_take_call(s, f, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

void
session_flush_channel(struct session *s)
{
	struct link *l = &s->inmate->jail.channel;
	bool reads = !l->ended && link_backlog(&s->door) <= DOOR_BACKLOG;
	uint32_t events = reads ? EPOLLIN : 0;
	struct remit_error err;

	/* The other side may be dead; then its exit is on the way. */
	if (link_flush(l, &err) < 0)
		link_drop_backlog(l);
	if (link_wants_write(l))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->inmate->on_channel, events);
	if (s->filing.asked && !s->door_gone)
		session_want_door(s);
}

/*
 * Whatever a running program writes to its channel concerns only itself: a
 * broken protocol ends its claims and nothing else. Before the start it is
 * our own runtime that speaks, and it must not fail.
 */
void
session_on_channel(struct session *s, uint32_t events)
{
	struct link *l = &s->inmate->jail.channel;
	struct remit_error err;
	struct frame f = { .type = FRAME_NONE };

	(void)events;
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
			session_end_tools(s);
			l->ended = true;
			break;
		}
	} while (f.type != FRAME_NONE && s->state < SESSION_DYING);
	if (!s->inmate)
		return; /* answered */
	if (!l->ended) {
		session_flush_channel(s);
		return;
	}
	loop_remove(&s->keeper->loop, &s->inmate->on_channel);
	if (s->opened)
		session_lose_channel(s);
}

/* A runner that has rejected the code leaves by itself if the keeper is slow.
 */
static bool
may_speak(const struct session *s)
{
	return s->state == SESSION_CHECKING || s->state == SESSION_RUNNING;
}

/* The end may be seen before the last words are read. */
static void
read_last_words(struct session *s)
{
	uint32_t frames = frame_rules[FRAME_ENDED].max / FRAME_PIECE + 2;

	while (frames-- && may_speak(s) && s->inmate &&
	       !s->inmate->jail.channel.ended)
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

/* Nobody asked it to, and nobody waits for it. */
static void
lose_idle(struct session *s)
{
	struct remit_error why;

	fail(&why, REMIT_E_GONE, "its interpreter ended after cell %u",
	     s->cells);
	session_lose(s, &why);
}

void
session_on_end(struct session *s, const struct exit_report *end)
{
	if (session_rests(s)) {
		lose_idle(s);
		return;
	}
	if (s->state >= SESSION_DYING)
		return;
	s->exit = *end;
	s->facts.has_wait_status = true;
	s->facts.wait_status = end->wait_status;
	s->ended_us = loop_now_us();
	read_last_words(s);
	note_early_end(s);
	session_die(s);
}

/* Everything in the jail is dead now: nobody writes any more. */
void
session_on_dead(struct session *s, const struct exit_report *end)
{
	/* It was killed because it had said that it is done. */
	bool waited = s->state == SESSION_DYING && s->claim.has_exit_code;

	if (session_rests(s)) {
		lose_idle(s);
		return;
	}
	read_last_words(s);
	if (!s->inmate)
		return; /* its last word was its end */
	if (s->inmate->jail.alone && !waited) {
		s->exit = *end;
		s->facts.has_wait_status = true;
		s->facts.wait_status = end->wait_status;
	} else if (!s->facts.has_wait_status && s->state != SESSION_DYING) {
		s->facts.init_died = true;
	}
	note_early_end(s);
	if (!s->ended_us)
		s->ended_us = loop_now_us();
	session_finish(s);
}
