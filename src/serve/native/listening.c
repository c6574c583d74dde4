#include "serve/native/listening.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "client/displays.h"
#include "client/result_view.h"
#include "serve/server.h"

/* What is sent of a long result at once. */
#define PIECE ((size_t)64 * 1024)

/* ---- one event ---- */

/* Takes the event; NULL is the end of memory, and is left out. */
static void
send_event(struct listening *l, json_t *event)
{
	own_mem char *text =
		event ? json_dumps(event,
				   JSON_COMPACT | JSON_REAL_PRECISION(15))
		      : NULL;
	own(buf) struct buf out = BUF_INIT((size_t)4 << 30);
	const char *type = json_string_value(json_object_get(event, "type"));
	int failed = !text;

	if (!failed && l->stream == STREAM_SSE)
		failed = buf_addf(&out, "event: %s\ndata: ", type) < 0 ||
			 buf_add(&out, text, strlen(text)) < 0 ||
			 buf_add(&out, "\n\n", 2) < 0;
	else if (!failed)
		failed = buf_add(&out, text, strlen(text)) < 0 ||
			 buf_add(&out, "\n", 1) < 0;
	json_decref(event);
	if (!failed && reply_piece(l->x, out.data, out.len) < 0)
		return; /* nobody reads: the run is being interrupted */
}

/* {"type":"result","result":...} without taking the result apart; in pieces,
   since it may be long and the client slow. */
static void
send_result(struct listening *l, const struct buf *result)
{
	static const char head[] = "{\"type\":\"result\",\"result\":";
	bool sse = l->stream == STREAM_SSE;
	const char *mark = sse ? "event: result\ndata: " : "";
	const char *end = sse ? "}\n\n" : "}\n";
	size_t len = result->len, n;

	if (reply_piece(l->x, mark, strlen(mark)) < 0 ||
	    reply_piece(l->x, head, sizeof(head) - 1) < 0)
		return;
	for (size_t at = 0; at < len; at += n) {
		n = len - at < PIECE ? len - at : PIECE;
		if (reply_piece(l->x, result->data + at, n) < 0)
			return;
	}
	if (reply_piece(l->x, end, strlen(end)) < 0)
		return; /* the client has gone */
}

/* ---- output: whole characters only ---- */

static size_t
cut_at(const char *bytes, size_t len)
{
	size_t valid = text_valid_prefix(bytes, len);

	/* What is wrong in the middle is shown as it is; a character that is
	   cut off at the end waits for its rest. */
	return text_is_cut(bytes, len) ? valid : len;
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct listening *l = user;
	struct listening_rest *rest = &l->rests[stream == REMIT_STDERR];
	own(buf) struct buf all = BUF_INIT(rest->len + len);
	size_t whole;

	if (buf_add(&all, rest->bytes, rest->len) < 0 ||
	    buf_add(&all, bytes, len) < 0)
		return;
	whole = cut_at(all.data, all.len);
	if (all.len - whole >= sizeof(rest->bytes))
		whole = all.len;
	rest->len = all.len - whole;
	memcpy(rest->bytes, all.data + whole, rest->len);
	if (whole)
		send_event(
			l,
			json_pack("{s:s, s:s, s:o}", "type", "output", "stream",
				  stream == REMIT_STDOUT ? "stdout" : "stderr",
				  "text", text_to_json(all.data, whole)));
}

/* Characters that never became whole. */
static void
flush_rests(struct listening *l)
{
	static const char *const names[] = { "stdout", "stderr" };

	for (int i = 0; i < 2; i++) {
		struct listening_rest *r = &l->rests[i];

		if (r->len)
			send_event(l,
				   json_pack("{s:s, s:s, s:o}", "type",
					     "output", "stream", names[i],
					     "text",
					     text_to_json(r->bytes, r->len)));
		r->len = 0;
	}
}

/* ---- other events ---- */

static void
on_begin(void *user, struct hosted *r)
{
	send_event(user, json_pack("{s:s, s:s}", "type", "start", "id",
				   hosted_id(r)));
}

static void
on_display(void *user, const struct remit_display *d)
{
	struct listening *l = user;
	json_t *mime = json_object();

	for (size_t i = 0; i < d->part_count; i++) {
		const struct remit_part *p = &d->parts[i];
		own_mem char *coded = NULL;
		json_t *value;

		if (displays_is_text(p->mime)) {
			value = text_to_json(p->bytes, p->len);
		} else {
			coded = base64_encode(p->bytes, p->len);
			value = coded ? json_string(coded) : NULL;
		}
		json_object_set_new(mime, p->mime, value);
	}
	send_event(l, json_pack("{s:s, s:b, s:o}", "type", "display",
				"is_value", d->is_value, "mime", mime));
}

static void
on_progress(void *user, const char *line, size_t len)
{
	send_event(user, json_pack("{s:s, s:o}", "type", "progress", "text",
				   text_to_json(line, len)));
}

static void
on_call(void *user, const char *id, const char *tool,
	const char *arguments_json, size_t len)
{
	json_t *arguments =
		json_loadb(arguments_json, len, JSON_ALLOW_NUL, NULL);

	send_event(user, json_pack("{s:s, s:s, s:s, s:o}", "type", "call", "id",
				   id, "tool", tool, "arguments",
				   arguments ? arguments : json_object()));
}

static void
on_question(void *user, const char *id, const struct remit_question *q)
{
	json_t *detail = q->detail ? text_to_json(q->detail, strlen(q->detail))
				   : json_null();

	send_event(user,
		   json_pack("{s:s, s:s, s:s, s:o, s:o}", "type", "question",
			     "id", id, "kind", q->kind, "subject",
			     text_to_json(q->subject, strlen(q->subject)),
			     "detail", detail));
}

/* ---- the end ---- */

/* The result as `remit run --json` prints it, behind its id. */
static int
write_result(const struct listening *l, const struct remit_result *res,
	     struct buf *out)
{
	char id[HOSTED_ID_SIZE + 2];
	const struct result_heading heading = { .id = id };

	snprintf(id, sizeof(id), "\"%s\"", hosted_id(l->hosted));
	return result_view_write(res, &heading, out);
}

static int
status_of(const struct remit_result *res)
{
	const char *status = remit_result_status(res);

	if (!strcmp(status, "refused"))
		return 422;
	return strcmp(status, "busy") ? 200 : 429;
}

/* A run that was refused is a result and an error. */
static void
reply_refusal(struct listening *l, int status, const struct remit_result *res)
{
	json_t *doc = json_loads(remit_result_json(res), 0, NULL);
	json_t *error = json_object_get(doc, "error");

	json_object_set_new(doc, "id", json_string(hosted_id(l->hosted)));
	reply_json(l->x, status,
		   json_pack("{s:{s:s, s:O?, s:O?, s:O?}, s:o}", "error",
			     "code", remit_result_status(res), "message",
			     json_object_get(error, "value"), "remedy",
			     json_object_get(error, "remedy"), "where",
			     json_object_get(error, "where"), "result", doc));
}

static void
reply_whole(struct listening *l, const struct remit_result *res)
{
	own(buf) struct buf text = BUF_INIT(0);
	int status = status_of(res);

	metrics_program(&l->x->server->metrics, remit_result_status(res));
	if (status != 200)
		reply_refusal(l, status, res);
	else if (write_result(l, res, &text) == 0)
		reply_take(l->x, status, "application/json",
			   take_ptr(&text.data), text.len);
	else
		reply_fail(l->x, 500, "memory", "no memory");
}

static void
on_whole_result(void *user, struct remit_result *res,
		const struct remit_error *err)
{
	struct listening *l = user;

	if (res)
		reply_whole(l, res);
	else if (err)
		reply_error(l->x, err);
	else
		reply_fail(l->x, 500, "memory", "no memory");
	exchange_put_sent(l->x);
}

static void
on_last_event(void *user, struct remit_result *res,
	      const struct remit_error *err)
{
	struct listening *l = user;
	own(buf) struct buf text = BUF_INIT(0);
	json_t *error;

	flush_rests(l);
	if (res)
		metrics_program(&l->x->server->metrics,
				remit_result_status(res));
	if (res && write_result(l, res, &text) == 0) {
		send_result(l, &text);
	} else if (err) {
		error = reply_error_json(err);
		json_object_set_new(error, "type", json_string("error"));
		send_event(l, error);
	}
	buf_free(&text);
	reply_end(l->x);
	exchange_put_sent(l->x);
}

/* Nobody can answer a call or a question without a stream. */
static const struct hosted_events whole = { .result = on_whole_result };
static const struct hosted_events lines = {
	.begin = on_begin,
	.output = on_output,
	.display = on_display,
	.progress = on_progress,
	.call = on_call,
	.result = on_last_event,
};
static const struct hosted_events lines_and_questions = {
	.begin = on_begin,
	.output = on_output,
	.display = on_display,
	.progress = on_progress,
	.call = on_call,
	.question = on_question,
	.result = on_last_event,
};

/* ---- the client ---- */

static void
listening_free(void *listening)
{
	struct listening *l = listening;

	hosted_unref(l->hosted);
	free(l);
}

static void
on_gone(void *user)
{
	struct listening *l = user;

	if (l->cell)
		hosted_cancel(l->hosted, l->cell);
	else
		hosted_interrupt(l->hosted);
}

static enum request_stream
stream_of(const struct exchange *x, const struct request *r)
{
	if (r->stream != STREAM_NONE)
		return r->stream;
	if (exchange_header_is(x, "accept", "application/x-ndjson"))
		return STREAM_NDJSON;
	return exchange_header_is(x, "accept", "text/event-stream")
		       ? STREAM_SSE
		       : STREAM_NONE;
}

struct listening *
listening_new(struct exchange *x, const struct request *r)
{
	struct listening *l = calloc(1, sizeof(*l));

	if (!l) {
		reply_fail(x, 500, "memory", "no memory");
		return NULL;
	}
	l->x = exchange_ref(x); /* for the worker, until the last event */
	l->stream = stream_of(x, r);
	l->events = l->stream == STREAM_NONE ? &whole
		    : r->asks		     ? &lines_and_questions
					     : &lines;
	exchange_own(x, l, listening_free);
	if (l->stream == STREAM_NONE)
		return l;
	reply_begin(x, 200,
		    l->stream == STREAM_SSE ? "text/event-stream"
					    : "application/x-ndjson");
	reply_keepalive(x, l->stream == STREAM_SSE
				   ? "event: keepalive\ndata: "
				     "{\"type\":\"keepalive\"}\n\n"
				   : "{\"type\":\"keepalive\"}\n");
	return l;
}

void
listening_begin(struct listening *l)
{
	exchange_on_gone(l->x, on_gone, l);
}

void
listening_fail(struct listening *l, const struct remit_error *err)
{
	l->events->result(l, NULL, err);
}
