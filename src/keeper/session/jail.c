/*
 * session_jail: what a session reads from its jail: output, values and
 * displays, frames, and the end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "keeper/session/part.h"
#include "keeper/session/task.h"
#include "wire/record.h"

/* Output is first read after this time, or at the end of a shorter program.
   Handling each line separately would take longer than such a program runs. */
#define OUTPUT_DELAY_US 1000

static void
drain_capture(struct session *s, struct capture *c, struct source *src)
{
	struct remit_error err;

	if (capture_drain(c, &s->client, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	if (c->ended)
		loop_remove(&s->keeper->loop, src);
	if (capture_is_over_ceiling(c)) {
		s->cell.facts.over_ceiling = true;
		/* Stop reading, so that a program that keeps writing blocks
		   until it is killed. */
		loop_remove(&s->keeper->loop, src);
		session_post(s, SESSION_OVER_CEILING);
	}
	session_flush_client(s);
}

void
session_on_stdout(struct session *s)
{
	/* Output between cells belongs to the next one and stays in the pipe,
	   so this event can only be the end of the output. */
	if (session_is_between_cells(s))
		loop_remove(&s->keeper->loop, &s->worker->on_out);
	else if (s->out.fd >= 0)
		drain_capture(s, &s->out, &s->worker->on_out);
}

void
session_on_stderr(struct session *s)
{
	if (session_is_between_cells(s))
		loop_remove(&s->keeper->loop, &s->worker->on_err);
	else if (s->err.fd >= 0)
		drain_capture(s, &s->err, &s->worker->on_err);
}

/* ---- values and displays ---- */

/* Displays are forwarded to the client in order with the output, as far as the
   policy allows. The keeper does not parse their bytes. */

/* Heads without bytes cost nothing of display_bytes; this limits their
   number. */
#define DISPLAYS_MAX 1000

static bool
display_fits(const struct session *s, const struct display_head *h)
{
	const struct policy *p = &s->pool->policy;
	const struct displays *d = &s->cell.displays;

	if (h->kind == DISPLAY_SHOWN && s->display.mode == DISPLAYS_NONE)
		return false;
	if (!plan_keeps(&s->pool->plan, MECH(FRAME_CAP)))
		return true;
	if (h->kind == DISPLAY_VALUE)
		return !d->has_value && h->total_bytes <= p->value_bytes;
	return d->shown < DISPLAYS_MAX &&
	       h->total_bytes <= p->display_bytes - d->shown_bytes;
}

/* A thread of an open session may send a display between cells; it is
   dropped. */
static bool
may_show(const struct session *s)
{
	return s->state == SESSION_RUNNING || session_is_opened(s);
}

/* Forwards the output that was written before the display. */
static void
send_output_first(struct session *s)
{
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
}

static int
relay_display(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (link_send(&s->client, f->type, f->payload, f->len, err) < 0)
		return -1;
	session_flush_client(s);
	return 0;
}

int
session_recv_display(struct session *s, const struct frame *f,
		     struct remit_error *err)
{
	struct displays *d = &s->cell.displays;
	struct display_head h;

	if (!may_show(s) || s->display.missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected frame \"display\"");
	if (display_head_read(&h, f->payload, f->len, err) < 0)
		return -1;
	s->display.missing = h.total_bytes;
	s->display.dropped =
		s->state != SESSION_RUNNING || !display_fits(s, &h);
	if (s->display.dropped) {
		d->left_out++;
		return 0;
	}
	if (h.kind == DISPLAY_VALUE) {
		d->has_value = true;
	} else {
		d->shown++;
		d->shown_bytes += h.total_bytes;
		send_output_first(s);
	}
	return relay_display(s, f, err);
}

int
session_recv_display_data(struct session *s, const struct frame *f,
			  struct remit_error *err)
{
	if (!may_show(s) || f->len > s->display.missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected bytes of a display");
	s->display.missing -= f->len;
	return s->display.dropped || !f->len ? 0 : relay_display(s, f, err);
}

/* ---- the job ---- */

static int
send_code(struct session *s, struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_JOB].max);
	struct link *channel = &s->worker->jail.channel;
	char cell[32];
	struct task_job job = {
		.name = s->cell.name ? s->cell.name : "main.py",
		.argv = &s->cell.argv,
		.code_len = s->cell.code.len,
		.display_mode = s->display.mode,
		.interactive = s->cell.interactive,
		.context = s->cell.context,
		.fresh = s->cell.fresh,
		.env = &s->cell.env,
		.stirred = s->cell.stirred,
	};

	if (session_is_opened(s) && !s->cell.name) {
		snprintf(cell, sizeof(cell), "<cell %u>", s->cells);
		job.name = cell;
	}
	if (task_write_job(&records, &job, err) < 0 ||
	    session_send_tools(s, err) < 0 ||
	    inputs_send(&s->cell.files, channel, err) < 0 ||
	    link_send(channel, FRAME_JOB, records.data, records.len, err) < 0 ||
	    link_send_pieces(channel, FRAME_CODE, s->cell.code.data,
			     s->cell.code.len, err) < 0)
		return -1;
	s->cell.code_bytes = s->cell.code.len;
	buf_free(&s->cell.code);
	return 0;
}

static uint64_t
cell_deadline_us(const struct session *s)
{
	uint64_t ms;

	if (s->life == LIFE_CLOSING)
		return s->cell.began_us + SESSION_GRACE_US;
	/* POLICY_UNLIMITED, which means no limit, is the largest number. */
	ms = plan_keeps(&s->pool->plan, MECH(TIMER))
		     ? s->pool->policy.timeout_ms
		     : POLICY_UNLIMITED;
	if (s->cell.timeout_ms && s->cell.timeout_ms < ms)
		ms = s->cell.timeout_ms;
	return ms == POLICY_UNLIMITED ? 0 : s->cell.began_us + ms * 1000;
}

/* Returns how long the clock may be paused for replies, in total. */
static uint64_t
pause_max_us(const struct session *s)
{
	return plan_keeps(&s->pool->plan, MECH(BRIDGE))
		       ? s->pool->policy.tool_wait_ms * 1000
		       : UINT64_MAX / 4;
}

int
session_send_job(struct session *s, struct remit_error *err)
{
	struct link *channel = &s->worker->jail.channel;
	bool closes = s->life == LIFE_CLOSING;
	bool checked = task_is_checked(&s->pool->plan) && !closes;

	if (closes ? link_send(channel, FRAME_CLOSE, "", 0, err) < 0
		   : send_code(s, err) < 0)
		return -1;
	if (cpu_share_join(&s->keeper->cpu_shares, &s->worker->cpu_share,
			   &s->worker->jail.group, s->cell.tenant, err) < 0)
		return -1;
	if (session_enter(s, checked ? SESSION_CHECKING : SESSION_RUNNING) < 0)
		return 0;
	s->cell.was_warm = s->worker->jail.warm;
	s->cell.is_watched = s->worker->jail.listener >= 0;
	session_check_cpu(s);
	if (!session_is_opened(s) && s->pool->plan.write_roots)
		s->committer.since = ctime_mark_now();
	s->cell.began_us = loop_now_us();
	s->clock.output_us = s->cell.began_us + OUTPUT_DELAY_US;
	cell_clock_start(&s->clock, cell_deadline_us(s), pause_max_us(s));
	session_set_timer(s);
	return 0;
}

/* ---- frames, and the end ---- */

static int
recv_checked(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state != SESSION_CHECKING)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected frame \"checked\"");
	if (claim_parse_checked(&s->cell.claim, f->payload, f->len, err) < 0)
		return -1;
	s->cell.facts.checked_only = s->pool->plan.tier == TIER_STATIC;
	if (s->cell.claim.kind == CLAIM_REJECTED ||
	    s->cell.facts.checked_only) {
		session_post(s, SESSION_REPORTED);
		return 0;
	}
	if (session_enter(s, SESSION_RUNNING) < 0)
		return 0;
	if (s->cell.facts.interrupted)
		jail_interrupt(&s->worker->jail);
	return link_send(&s->worker->jail.channel, FRAME_GO, "", 0, err);
}

/* The program reports that it is done, and waits to be killed. */
static int
recv_ended(struct session *s, const struct frame *f, struct remit_error *err)
{
	if (s->state != SESSION_RUNNING)
		return fail(err, REMIT_E_PROTOCOL,
			    "frame \"ended\" before the code started");
	if (claim_parse_ended(&s->cell.claim, f->payload, f->len, err) < 0)
		return -1;
	if (!s->cell.claim.has_exit_code || s->cell.facts.has_wait_status)
		return 0;
	s->cell.ended_us = loop_now_us();
	jail_sample(&s->worker->jail, &s->cell.exit);
	session_post(s, SESSION_REPORTED);
	return 0;
}

/* The answer does not wait for the jail to die, unless files are to be exported
   from it. If the program was rejected, it has not run, and its jail dies
   first. */
void
session_handle_reported_end(struct session *s)
{
	bool ran = s->state == SESSION_RUNNING;
	bool rejected = s->cell.claim.kind == CLAIM_REJECTED;

	if (!ran && rejected && session_is_opened(s))
		s->cell.ended_us = loop_now_us();
	if (s->life == LIFE_OPEN && (ran || rejected))
		session_end_cell(s);
	else if (!ran || session_needs_dead_jail(s))
		session_kill_jail(s);
	else
		session_finish(s);
}

/* Output comes before the prompt, so that the person who types sees it
   first. */
static int
recv_prompt(struct session *s, struct remit_error *err)
{
	if (s->state != SESSION_RUNNING || !s->cell.interactive)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected frame \"prompt\"");
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
	if (link_send(&s->client, FRAME_PROMPT, "", 0, err) < 0)
		return -1;
	session_flush_client(s);
	return 0;
}

static int
recv_jail_frame(struct session *s, const struct frame *f,
		struct remit_error *err)
{
	switch (f->type) {
	case FRAME_CHECKED:
		return recv_checked(s, f, err);
	case FRAME_ENDED:
		return recv_ended(s, f, err);
	case FRAME_PROMPT:
		return recv_prompt(s, err);
	case FRAME_FILE_BYTES:
	case FRAME_FILE_ANSWER:
		return session_recv_file_answer(s, f, err);
	case FRAME_FORKED:
		return session_recv_forked(s, f, err);
	case FRAME_DISPLAY:
		return session_recv_display(s, f, err);
	case FRAME_DISPLAY_DATA:
		return session_recv_display_data(s, f, err);
	case FRAME_CALL:
	case FRAME_CALL_DATA:
		return session_recv_call(s, f, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

void
session_flush_channel(struct session *s)
{
	struct link *l = &s->worker->jail.channel;
	bool reads = !l->ended && link_backlog(&s->client) <= CLIENT_BACKLOG;
	uint32_t events = reads ? EPOLLIN : 0;
	struct remit_error err;

	/* The other end may be dead; then its exit will be reported. */
	if (link_flush(l, &err) < 0)
		link_drop_backlog(l);
	if (link_wants_write(l))
		events |= EPOLLOUT;
	loop_want(&s->keeper->loop, &s->worker->on_channel, events);
	if (s->state == SESSION_FILING && !s->client_gone)
		session_watch_client(s);
}

/*
 * Ends the channel of a jail that broke the protocol. A running program can
 * only harm itself by that: it loses its claims, nothing else. Before the code
 * starts, the frames come from Remit's own runtime, which must not fail.
 */
static void
break_channel(struct session *s, const struct remit_error *err)
{
	if (s->state < SESSION_RUNNING) {
		session_fail(s, err);
		return;
	}
	session_end_tools(s);
	s->worker->jail.channel.ended = true;
}

void
session_read_channel(struct session *s)
{
	struct link *l = &s->worker->jail.channel;
	struct frame f = { .type = FRAME_NONE };
	struct remit_error err;

	do {
		if (link_next(l, &f, &err) < 0 ||
		    (f.type != FRAME_NONE &&
		     recv_jail_frame(s, &f, &err) < 0)) {
			break_channel(s, &err);
			break;
		}
	} while (f.type != FRAME_NONE && s->state < SESSION_DYING &&
		 !s->queue.events);
	if (!l->ended) {
		session_flush_channel(s);
	} else if (s->worker->on_channel.fd >= 0) {
		loop_remove(&s->keeper->loop, &s->worker->on_channel);
		session_post(s, SESSION_CHANNEL_LOST);
	}
}

void
session_on_channel(struct session *s, uint32_t events)
{
	struct link *l = &s->worker->jail.channel;
	struct remit_error err;

	(void)events;
	if (link_fill(l, &err) < 0)
		l->ended = true;
	session_read_channel(s);
}

/* A runner that has rejected the code exits even before the keeper kills it. */
static bool
may_still_report(const struct session *s)
{
	return (s->state == SESSION_CHECKING || s->state == SESSION_RUNNING) &&
	       !s->worker->jail.channel.ended && !s->queue.events;
}

/* The death may be reported before the last frames are read. */
static void
read_last_frames(struct session *s)
{
	uint32_t frames = frame_rules[FRAME_ENDED].max / FRAME_PIECE + 2;

	while (frames-- && may_still_report(s))
		session_on_channel(s, EPOLLIN);
}

/* Before the code starts, the process runs only Remit's own runtime, which must
   not exit. */
static void
note_early_end(struct session *s)
{
	struct remit_error err;

	/* The runner may exit after it has rejected the code. */
	if (s->state >= SESSION_RUNNING ||
	    session_queue_has(&s->queue, SESSION_REPORTED) ||
	    !s->cell.facts.has_wait_status ||
	    !WIFEXITED(s->cell.facts.wait_status))
		return;
	fail(&err, REMIT_E_INTERNAL,
	     "the interpreter ended before the program began (exit code %d)",
	     WEXITSTATUS(s->cell.facts.wait_status));
	cell_fail(&s->cell, &err);
}

void
session_end_code(struct session *s)
{
	s->cell.exit = s->worker->end;
	s->cell.facts.has_wait_status = true;
	s->cell.facts.wait_status = s->worker->end.wait_status;
	s->cell.ended_us = loop_now_us();
	read_last_frames(s);
	note_early_end(s);
	session_kill_jail(s);
}

static void
note_last_end(struct session *s)
{
	const struct exit_report *end = &s->worker->last_end;
	/* The keeper killed the process, which had already reported its end. */
	bool waited = s->state == SESSION_DYING && s->cell.claim.has_exit_code;

	if (s->worker->jail.no_init && !waited) {
		s->cell.exit = *end;
		s->cell.facts.has_wait_status = true;
		s->cell.facts.wait_status = end->wait_status;
	} else if (!s->cell.facts.has_wait_status &&
		   s->state != SESSION_DYING) {
		s->cell.facts.init_died = true;
	}
}

/* Everything in the jail is dead, so no more output comes. */
void
session_end_jail(struct session *s)
{
	read_last_frames(s);
	if (session_queue_has(&s->queue, SESSION_REPORTED)) {
		/* The last frame of the jail was a report of its end, which is
		   handled first. */
		session_post(s, SESSION_JAIL_DEAD);
		return;
	}
	note_last_end(s);
	note_early_end(s);
	if (!s->cell.ended_us)
		s->cell.ended_us = loop_now_us();
	session_finish(s);
}
