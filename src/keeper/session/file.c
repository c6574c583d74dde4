/*
 * session_file: requests of a client for files of a session, between cells.
 *
 * The keeper forwards the task into the jail and the answer to the client. It
 * touches no file and does not parse the answer, but counts bytes in both
 * directions and limits the time. If the code does not answer, or sends more
 * than was requested, the session loses its jail.
 */
#include <string.h>

#include "base/deadline.h"
#include "base/number.h"
#include "keeper/session/part.h"
#include "wire/record.h"

static int
read_sizes(struct filing *f, const struct frame *frame, struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	if (record_check(frame->payload, frame->len, err) < 0)
		return -1;
	while (record_next(frame->payload, frame->len, &at, &r)) {
		uint64_t *to = !strcmp(r.key, "bytes") ? &f->missing_bytes
			       : !strcmp(r.key, "length")
				       ? &f->answer_bytes_left
				       : NULL;

		if (to && number_parse(to, r.value) < 0)
			return fail(err, REMIT_E_PROTOCOL,
				    "malformed size: %.40s", r.value);
	}
	if (f->answer_bytes_left > REMIT_FILE_READ_MAX)
		f->answer_bytes_left = REMIT_FILE_READ_MAX;
	return 0;
}

static int
check_file_task(const struct session *s, struct remit_error *err)
{
	uint64_t max = session_policy(s)->input_bytes;

	if (s->loss.code) {
		*err = s->loss;
		return -1;
	}
	if (!plan_keeps(&s->pool->plan, MECH(FRAME_CAP)))
		return 0;
	if (s->filing.missing_bytes > max)
		return fail(err, REMIT_E_INPUT,
			    "the file is longer than input_bytes allows (%llu "
			    "bytes)",
			    (unsigned long long)max);
	return 0;
}

void
session_file_complete(struct session *s)
{
	if (cell_has_failed(&s->cell)) {
		/* No code ran, so the audit gets no line. */
		s->cell.was_audited = true;
		session_answer(s);
		return;
	}
	s->clock.deadline_us = loop_now_us() + deadline_us(DEADLINE_FILE);
	session_set_timer(s);
}

static void
refuse_file_task(struct session *s, const struct remit_error *why)
{
	cell_fail(&s->cell, why);
	/* The client must send the rest of the file first. */
	if (!s->filing.missing_bytes)
		session_file_complete(s);
}

int
session_recv_file_task(struct session *s, const struct frame *f,
		       struct remit_error *err)
{
	struct remit_error why;

	s->filing = (struct filing){ 0 };
	s->requested_us = loop_now_us();
	if (read_sizes(&s->filing, f, err) < 0)
		return -1;
	if (session_enter(s, SESSION_FILING) < 0)
		return 0;
	if (check_file_task(s, &why) < 0) {
		refuse_file_task(s, &why);
		return 0;
	}
	if (link_send(&s->worker->jail.channel, f->type, f->payload, f->len,
		      err) < 0)
		return -1;
	/* The host caused this work, so no cell is charged for it. */
	s->cell.cpu_before_us = session_cpu_us(s);
	session_check_cpu(s);
	session_start_idle_timer(s);
	if (!s->filing.missing_bytes)
		session_file_complete(s);
	session_flush_channel(s);
	return 0;
}

int
session_recv_file_data(struct session *s, const struct frame *f,
		       struct remit_error *err)
{
	if (!f->len || f->len > s->filing.missing_bytes)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected bytes of a file");
	s->filing.missing_bytes -= f->len;
	if (!cell_has_failed(&s->cell) &&
	    link_send(&s->worker->jail.channel, f->type, f->payload, f->len,
		      err) < 0)
		return -1;
	if (s->worker)
		session_flush_channel(s);
	return 0;
}

int
session_recv_file_answer(struct session *s, const struct frame *f,
			 struct remit_error *err)
{
	bool is_end = f->type == FRAME_FILE_ANSWER;

	if (s->state != SESSION_FILING || s->filing.missing_bytes ||
	    cell_has_failed(&s->cell))
		return fail(err, REMIT_E_PROTOCOL,
			    "the code answered without a request");
	if (!is_end && f->len > s->filing.answer_bytes_left)
		return fail(err, REMIT_E_PROTOCOL,
			    "the code sent more of a file than was requested");
	if (link_send(&s->client, f->type, f->payload, f->len, err) < 0)
		return -1;
	if (is_end) {
		if (session_enter(s, SESSION_IDLE) == 0)
			session_start_idle_timer(s);
	} else {
		s->filing.answer_bytes_left -= f->len;
	}
	session_flush_client(s);
	return 0;
}

void
session_abandon_file(struct session *s, bool is_busy)
{
	struct remit_error why = s->loss;

	if (is_busy)
		why.code = REMIT_E_BUSY;
	if (!cell_has_failed(&s->cell))
		refuse_file_task(s, &why);
}

void
session_file_timed_out(struct session *s)
{
	struct remit_error why;

	/* The delay may be the client's, if it does not read. */
	if (link_backlog(&s->client) > CLIENT_BACKLOG) {
		s->clock.deadline_us =
			loop_now_us() + deadline_us(DEADLINE_FILE);
		session_set_timer(s);
		return;
	}
	deadline_missed(&why, DEADLINE_FILE);
	session_lose_jail(s, &why);
}
