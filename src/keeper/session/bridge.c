#include "keeper/session/bridge.h"

#include <stdio.h>
#include <string.h>

#include "wire/record.h"

/* The maximum of the field tool_bytes. */
#define BYTES_MAX ((uint64_t)64 * 1024 * 1024)

/* The maximum length of a head, and of a refusal's text. */
#define MESSAGE_MAX 1024

/* The maximum size of refusals that the code has not read yet. Each thread of
   the code waits for at most one, so honest code needs far less. */
#define REFUSED_BYTES_MAX ((uint64_t)256 * 1024)

int
bridge_set_tools(struct bridge *b, const char *payload, size_t len,
		 struct remit_error *err)
{
	buf_free(&b->tools);
	b->tools_sent = false;
	if (record_check(payload, len, err) < 0)
		return -1;
	if (buf_add(&b->tools, payload, len) < 0)
		return fail_memory(err, "tools");
	return 0;
}

int
bridge_send_tools(struct bridge *b, const struct bridge_limits *max,
		  struct link *jail, struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_TOOLS].max);
	char number[24];

	if (!b->tools.len || b->tools_sent)
		return 0;
	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)max->concurrency);
	if (record_add(&records, "concurrency", number) < 0 ||
	    buf_add(&records, b->tools.data, b->tools.len) < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"the list of tools is too long");
	b->tools_sent = true;
	return link_send(jail, FRAME_TOOLS, records.data, records.len, err);
}

/* ---- pending calls ---- */

static size_t
pending_find(const struct bridge *b, uint64_t id)
{
	size_t i = 0;

	while (i < b->pending_count && b->pending[i] != id)
		i++;
	return i;
}

static void
pending_remove(struct bridge *b, uint64_t id)
{
	size_t i = pending_find(b, id);

	if (i < b->pending_count)
		b->pending[i] = b->pending[--b->pending_count];
}

/* ---- from the code ---- */

static int
send_head(struct link *l, enum frame_type type, const struct call_head *h,
	  struct remit_error *err)
{
	own(buf) struct buf head = BUF_INIT(frame_rules[type].max);

	if (call_head_write(&head, h) < 0)
		return fail_memory(err, "call");
	return link_send(l, type, head.data, head.len, err);
}

static int
send_text(struct link *jail, uint64_t id, const char *word, const char *text,
	  struct remit_error *err)
{
	struct call_head h = {
		.id = id,
		.key = "outcome",
		.word = word,
		.bytes = strlen(text),
	};

	if (send_head(jail, FRAME_REPLY, &h, err) < 0)
		return -1;
	return link_send_pieces(jail, FRAME_REPLY_DATA, text, strlen(text),
				err);
}

/* Code that calls without reading must not fill the keeper's memory with
   refusals, even if results of tools may be large. */
static int
count_refusal(struct bridge *b, const struct link *jail,
	      struct remit_error *err)
{
	if (!link_backlog(jail))
		b->refused_bytes = 0;
	b->refused_bytes += MESSAGE_MAX;
	return b->refused_bytes > REFUSED_BYTES_MAX
		       ? fail(err, REMIT_E_PROTOCOL,
			      "the code does not read the refusals of its "
			      "calls")
		       : 0;
}

/* Answers a call with an error. */
static int
bridge_refuse_call(struct bridge *b, struct link *jail, uint64_t id,
		   const char *message, struct remit_error *err)
{
	if (count_refusal(b, jail, err) < 0)
		return -1;
	return send_text(jail, id, "error", message, err);
}

/* Writes to `why` the reason for not forwarding a call, or an empty text. */
static void
explain_refusal(const struct bridge *b, const struct bridge_limits *max,
		const struct call_head *h, char *why, size_t size)
{
	why[0] = '\0';
	if (!b->tools.len)
		snprintf(why, size, "this run has no tools");
	else if (!max->calls)
		snprintf(why, size, "no cell is running");
	else if (b->calls >= max->calls)
		snprintf(why, size, "tool_calls allows %llu calls per run",
			 (unsigned long long)max->calls);
	else if (b->pending_count >= max->concurrency ||
		 b->pending_count == BRIDGE_PENDING)
		snprintf(why, size,
			 "tool_concurrency allows %llu concurrent calls",
			 (unsigned long long)max->concurrency);
	else if (h->bytes > max->bytes)
		snprintf(why, size,
			 "the arguments have %llu bytes, and tool_bytes allows "
			 "%llu",
			 (unsigned long long)h->bytes,
			 (unsigned long long)max->bytes);
}

/* The same for a request for packages, which is not forwarded. */
static const char *
refuses_request(const struct bridge *b, const struct bridge_limits *max,
		const struct call_head *h)
{
	if (max->no_request)
		return "no cell is running";
	if (b->request_id)
		return "packages are being installed already";
	if (h->bytes > BRIDGE_REQUEST_MAX)
		return "the list of packages is too long";
	if (b->pending_count == BRIDGE_PENDING)
		return "too many calls wait for a reply";
	return "";
}

/* Code that waits for a reply when it may not call more never has more than
   this to read. */
static bool
is_flooded(const struct bridge_limits *max, const struct link *jail)
{
	uint64_t most;

	return !__builtin_mul_overflow(max->concurrency,
				       max->bytes + MESSAGE_MAX, &most) &&
	       link_backlog(jail) > most;
}

static int
bridge_begin_call(struct bridge *b, const struct bridge_limits *max,
		  const struct frame *f, struct link *client, struct link *jail,
		  struct remit_error *err)
{
	struct call_head h;
	char why[160];

	if (b->call.missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "a call begins before the last one is complete");
	if (is_flooded(max, jail))
		return fail(err, REMIT_E_PROTOCOL,
			    "the code does not read the replies to its calls");
	if (call_head_read(&h, "name", f->payload, f->len, err) < 0)
		return -1;
	if (h.id != b->last_id + 1 || h.bytes > BYTES_MAX || !h.bytes)
		return fail(err, REMIT_E_PROTOCOL,
			    "a call has the wrong number or no length");
	b->last_id = h.id;
	b->call = (struct transfer){ .id = h.id, .missing = h.bytes };
	b->call.kept = !strcmp(h.word, BRIDGE_INSTALL);
	if (b->call.kept)
		snprintf(why, sizeof(why), "%s", refuses_request(b, max, &h));
	else
		explain_refusal(b, max, &h, why, sizeof(why));
	if (why[0]) {
		b->call.dropped = true;
		return bridge_refuse_call(b, jail, h.id, why, err);
	}
	if (b->call.kept) {
		b->request_id = h.id;
		b->request.len = 0;
		return 0;
	}
	b->calls++;
	return link_send(client, FRAME_CALL, f->payload, f->len, err);
}

/* Returns false if fewer bytes are still to come. */
static bool
transfer_advance(struct transfer *p, size_t len)
{
	if (len > p->missing || !len)
		return false;
	p->missing -= len;
	return true;
}

int
bridge_call(struct bridge *b, const struct bridge_limits *max,
	    const struct frame *f, struct link *client, struct link *jail,
	    bool *begun, struct remit_error *err)
{
	*begun = false;
	if (f->type == FRAME_CALL)
		return bridge_begin_call(b, max, f, client, jail, err);
	if (!transfer_advance(&b->call, f->len))
		return fail(err, REMIT_E_PROTOCOL,
			    "a call is longer than announced");
	if (b->call.dropped)
		return 0;
	if (!b->call.missing) {
		*begun = true;
		b->pending[b->pending_count++] = b->call.id;
	}
	if (!b->call.kept)
		return link_send(client, FRAME_CALL_DATA, f->payload, f->len,
				 err);
	return buf_add(&b->request, f->payload, f->len) < 0
		       ? fail_memory(err, "packages")
		       : 0;
}

/* ---- from the client ---- */

/* The code has read only a part of a reply: nothing may come in between. */
static bool
is_replying(const struct bridge *b)
{
	return b->reply.missing && !b->reply.dropped;
}

static int
send_answer(struct bridge *b, struct link *jail, struct remit_error *err)
{
	const char *word = b->answer_word;
	uint64_t id = b->request_id;

	if (!word || is_replying(b))
		return 0;
	b->answer_word = NULL;
	b->request_id = 0;
	pending_remove(b, id);
	return send_text(jail, id, word, buf_text(&b->answer), err);
}

static int
bridge_begin_reply(struct bridge *b, const struct bridge_limits *max,
		   const struct frame *f, struct link *jail, bool *ended,
		   struct remit_error *err)
{
	struct call_head h;
	char why[160];

	if (b->reply.missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "a reply begins before the last one is complete");
	if (call_head_read(&h, "outcome", f->payload, f->len, err) < 0)
		return -1;
	if (!h.id || h.id > b->last_id || !h.bytes)
		return fail(err, REMIT_E_PROTOCOL,
			    "a reply to an unknown call");
	b->reply = (struct transfer){ .id = h.id, .missing = h.bytes };
	/* The call may be from an earlier cell. */
	if (pending_find(b, h.id) == b->pending_count ||
	    h.id == b->request_id) {
		b->reply.dropped = true;
		return 0;
	}
	if (h.bytes <= max->bytes)
		return link_send(jail, FRAME_REPLY, f->payload, f->len, err);
	b->reply.dropped = true;
	*ended = true;
	pending_remove(b, h.id);
	snprintf(why, sizeof(why),
		 "the result has %llu bytes, and tool_bytes allows %llu",
		 (unsigned long long)h.bytes, (unsigned long long)max->bytes);
	return bridge_refuse_call(b, jail, h.id, why, err);
}

int
bridge_reply(struct bridge *b, const struct bridge_limits *max,
	     const struct frame *f, struct link *jail, bool *ended,
	     struct remit_error *err)
{
	*ended = false;
	if (f->type == FRAME_REPLY)
		return bridge_begin_reply(b, max, f, jail, ended, err);
	if (!transfer_advance(&b->reply, f->len))
		return fail(err, REMIT_E_PROTOCOL,
			    "a reply is longer than announced");
	if (b->reply.dropped)
		return 0;
	if (!b->reply.missing) {
		*ended = true;
		pending_remove(b, b->reply.id);
	}
	if (link_send(jail, FRAME_REPLY_DATA, f->payload, f->len, err) < 0)
		return -1;
	return send_answer(b, jail, err);
}

int
bridge_answer(struct bridge *b, struct link *jail, const char *word,
	      const char *text, struct remit_error *err)
{
	if (!b->request_id)
		return 0;
	if (count_refusal(b, jail, err) < 0)
		return -1;
	b->answer.len = 0;
	if (buf_add(&b->answer, text, strlen(text)) < 0)
		return fail_memory(err, "packages");
	b->answer_word = word;
	return send_answer(b, jail, err);
}

/* Far more than code that reads has waiting for it. */
#define PROGRESS_BACKLOG ((size_t)64 * 1024)

int
bridge_send_progress(struct bridge *b, struct link *jail, const char *line,
		     struct remit_error *err)
{
	if (!b->request_id || b->answer_word || is_replying(b) ||
	    link_backlog(jail) > PROGRESS_BACKLOG || !line[0])
		return 0;
	return send_text(jail, b->request_id, "progress", line, err);
}

int
bridge_copy(struct bridge *b, const struct bridge *from,
	    struct remit_error *err)
{
	b->tools_sent = from->tools_sent;
	b->last_id = from->last_id;
	return buf_add(&b->tools, buf_text(&from->tools), from->tools.len) < 0
		       ? fail_memory(err, "tools")
		       : 0;
}

void
bridge_end(struct bridge *b)
{
	b->pending_count = 0;
	b->call = (struct transfer){ 0 };
	b->request_id = 0;
	b->answer_word = NULL;
	/* The rest of a reply that has started is still to come. */
	b->reply.dropped = true;
}

void
bridge_reset(struct bridge *b)
{
	bridge_end(b);
	b->tools_sent = false;
	b->last_id = 0;
}

void
bridge_free(struct bridge *b)
{
	buf_free(&b->tools);
	buf_free(&b->request);
	buf_free(&b->answer);
}
