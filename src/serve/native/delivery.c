#include "serve/native/delivery.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "client/displays.h"
#include "client/result_view.h"
#include "serve/server.h"

/* A long result is sent in pieces of this size. */
#define RESULT_PIECE_BYTES ((size_t)64 * 1024)

/* ---- one event ---- */

void
delivery_send(struct exchange *x, enum request_stream stream, json_t *event)
{
	own_mem char *text =
		event ? json_dumps(event,
				   JSON_COMPACT | JSON_REAL_PRECISION(15))
		      : NULL;
	own(buf) struct buf out = BUF_INIT((size_t)4 << 30);
	const char *type = json_string_value(json_object_get(event, "type"));
	int failed = !text;

	if (!failed && stream == STREAM_SSE)
		failed = buf_addf(&out, "event: %s\ndata: ", type) < 0 ||
			 buf_add(&out, text, strlen(text)) < 0 ||
			 buf_add(&out, "\n\n", 2) < 0;
	else if (!failed)
		failed = buf_add(&out, text, strlen(text)) < 0 ||
			 buf_add(&out, "\n", 1) < 0;
	json_decref(event);
	if (!failed && reply_piece(x, out.data, out.len) < 0)
		return; /* the client is gone, which exchange_on_gone() handles
			 */
}

static void
send_event(struct delivery *dl, json_t *event)
{
	delivery_send(dl->x, dl->stream, event);
}

/* Sends {"type":"result","result":...} without parsing the result, in pieces,
   since it may be long and the client slow. */
static void
send_result(struct delivery *dl, const struct buf *result)
{
	static const char head[] = "{\"type\":\"result\",\"result\":";
	bool sse = dl->stream == STREAM_SSE;
	const char *mark = sse ? "event: result\ndata: " : "";
	const char *end = sse ? "}\n\n" : "}\n";
	size_t len = result->len, n;

	if (reply_piece(dl->x, mark, strlen(mark)) < 0 ||
	    reply_piece(dl->x, head, sizeof(head) - 1) < 0)
		return;
	for (size_t at = 0; at < len; at += n) {
		n = len - at < RESULT_PIECE_BYTES ? len - at
						  : RESULT_PIECE_BYTES;
		if (reply_piece(dl->x, result->data + at, n) < 0)
			return;
	}
	if (reply_piece(dl->x, end, strlen(end)) < 0)
		return; /* the client is gone */
}

/* ---- output: whole characters only ---- */

static size_t
cut_at(const char *bytes, size_t len)
{
	size_t valid = text_valid_prefix(bytes, len);

	/* Invalid bytes in the middle are passed on; a character that is
	   incomplete at the end waits for its rest. */
	return text_is_cut(bytes, len) ? valid : len;
}

static void
delivery_on_output(void *user, enum remit_stream stream, const char *bytes,
		   size_t len)
{
	struct delivery *dl = user;
	struct delivery_rest *rest = &dl->rests[stream == REMIT_STDERR];
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
			dl,
			json_pack("{s:s, s:s, s:o}", "type", "output", "stream",
				  stream == REMIT_STDOUT ? "stdout" : "stderr",
				  "text", text_to_json(all.data, whole)));
}

/* At the end of the output, sends the bytes of a character that never became
   complete. */
static void
flush_rests(struct delivery *dl)
{
	static const char *const names[] = { "stdout", "stderr" };

	for (int i = 0; i < 2; i++) {
		struct delivery_rest *r = &dl->rests[i];

		if (r->len)
			send_event(dl,
				   json_pack("{s:s, s:s, s:o}", "type",
					     "output", "stream", names[i],
					     "text",
					     text_to_json(r->bytes, r->len)));
		r->len = 0;
	}
}

/* ---- other events ---- */

static void
delivery_on_begin(void *user, struct hosted *r)
{
	send_event(user, json_pack("{s:s, s:s}", "type", "start", "id",
				   hosted_id(r)));
}

static void
delivery_on_display(void *user, const struct remit_display *d)
{
	struct delivery *dl = user;
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
	send_event(dl, json_pack("{s:s, s:b, s:o}", "type", "display",
				 "is_value", d->is_value, "mime", mime));
}

static void
delivery_on_progress(void *user, const char *line, size_t len)
{
	send_event(user, json_pack("{s:s, s:o}", "type", "progress", "text",
				   text_to_json(line, len)));
}

static void
delivery_on_call(void *user, const char *id, const char *tool,
		 const char *arguments_json, size_t len)
{
	json_t *arguments =
		json_loadb(arguments_json, len, JSON_ALLOW_NUL, NULL);

	send_event(user, json_pack("{s:s, s:s, s:s, s:o}", "type", "call", "id",
				   id, "tool", tool, "arguments",
				   arguments ? arguments : json_object()));
}

static void
delivery_on_question(void *user, const char *id, const struct remit_question *q)
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

/* Writes the result as `remit run --json` prints it, preceded by its id. */
static int
write_result(const struct delivery *dl, const struct remit_result *res,
	     struct buf *out)
{
	char id[HOSTED_ID_SIZE + 2];
	const struct result_heading heading = { .id = id };

	snprintf(id, sizeof(id), "\"%s\"", hosted_id(dl->hosted));
	return result_view_write(res, &heading, out);
}

static int
result_status(const struct remit_result *res)
{
	const char *status = remit_result_status(res);

	if (!strcmp(status, "refused"))
		return 422;
	return strcmp(status, "busy") ? 200 : 429;
}

/* A refused run is sent both as an error and as a result. */
static void
reply_refusal(struct delivery *dl, int status, const struct remit_result *res)
{
	json_t *doc = json_loads(remit_result_json(res), 0, NULL);
	json_t *error = json_object_get(doc, "error");

	json_object_set_new(doc, "id", json_string(hosted_id(dl->hosted)));
	reply_json(dl->x, status,
		   json_pack("{s:{s:s, s:O?, s:O?, s:O?}, s:o}", "error",
			     "code", remit_result_status(res), "message",
			     json_object_get(error, "value"), "remedy",
			     json_object_get(error, "remedy"), "where",
			     json_object_get(error, "where"), "result", doc));
}

static void
reply_whole(struct delivery *dl, const struct remit_result *res)
{
	own(buf) struct buf text = BUF_INIT(0);
	int status = result_status(res);

	metrics_program(&dl->x->server->metrics, remit_result_status(res));
	if (status != 200)
		reply_refusal(dl, status, res);
	else if (write_result(dl, res, &text) == 0)
		reply_owned_bytes(dl->x, status, "application/json",
				  take_ptr(&text.data), text.len);
	else
		reply_fail(dl->x, 500, "memory", "no memory");
}

static void
delivery_on_result(void *user, struct remit_result *res,
		   const struct remit_error *err)
{
	struct delivery *dl = user;

	if (res)
		reply_whole(dl, res);
	else if (err)
		reply_error(dl->x, err);
	else
		reply_fail(dl->x, 500, "memory", "no memory");
	exchange_unref_sent(dl->x);
}

static void
delivery_on_last_event(void *user, struct remit_result *res,
		       const struct remit_error *err)
{
	struct delivery *dl = user;
	own(buf) struct buf text = BUF_INIT(0);
	json_t *error;

	flush_rests(dl);
	if (res)
		metrics_program(&dl->x->server->metrics,
				remit_result_status(res));
	if (res && write_result(dl, res, &text) == 0) {
		send_result(dl, &text);
	} else if (err) {
		error = reply_error_json(err);
		json_object_set_new(error, "type", json_string("error"));
		send_event(dl, error);
	}
	buf_free(&text);
	reply_end(dl->x);
	exchange_unref_sent(dl->x);
}

/* Without a stream, calls and questions cannot be answered. */
static const struct hosted_events whole = { .result = delivery_on_result };
static const struct hosted_events lines = {
	.begin = delivery_on_begin,
	.output = delivery_on_output,
	.display = delivery_on_display,
	.progress = delivery_on_progress,
	.call = delivery_on_call,
	.result = delivery_on_last_event,
};
static const struct hosted_events lines_and_questions = {
	.begin = delivery_on_begin,
	.output = delivery_on_output,
	.display = delivery_on_display,
	.progress = delivery_on_progress,
	.call = delivery_on_call,
	.question = delivery_on_question,
	.result = delivery_on_last_event,
};

/* ---- the client ---- */

static void
delivery_free(void *delivery)
{
	struct delivery *dl = delivery;

	hosted_unref(dl->hosted);
	free(dl);
}

static void
delivery_on_gone(void *user)
{
	struct delivery *dl = user;

	if (dl->cell)
		hosted_cancel(dl->hosted, dl->cell);
	else
		hosted_interrupt(dl->hosted);
}

enum request_stream
delivery_accepted(const struct exchange *x)
{
	if (exchange_header_is(x, "accept", "application/x-ndjson"))
		return STREAM_NDJSON;
	return exchange_header_is(x, "accept", "text/event-stream")
		       ? STREAM_SSE
		       : STREAM_NONE;
}

void
delivery_begin_stream(struct exchange *x, enum request_stream stream)
{
	bool is_sse = stream == STREAM_SSE;

	reply_begin(x, 200,
		    is_sse ? "text/event-stream" : "application/x-ndjson");
	reply_keepalive(x, is_sse ? "event: keepalive\ndata: "
				    "{\"type\":\"keepalive\"}\n\n"
				  : "{\"type\":\"keepalive\"}\n");
}

struct delivery *
delivery_new(struct exchange *x, const struct request *r)
{
	struct delivery *dl = calloc(1, sizeof(*dl));

	if (!dl) {
		reply_fail(x, 500, "memory", "no memory");
		return NULL;
	}
	dl->x = exchange_ref(x); /* for the worker, until the last event */
	dl->stream = r->stream ? r->stream : delivery_accepted(x);
	dl->events = dl->stream == STREAM_NONE ? &whole
		     : r->wants_questions      ? &lines_and_questions
					       : &lines;
	exchange_own(x, dl, delivery_free);
	if (dl->stream != STREAM_NONE)
		delivery_begin_stream(x, dl->stream);
	return dl;
}

void
delivery_begin(struct delivery *dl)
{
	exchange_on_gone(dl->x, delivery_on_gone, dl);
}

void
delivery_fail(struct delivery *dl, const struct remit_error *err)
{
	dl->events->result(dl, NULL, err);
}
