#include "mcp/elicit.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mcp/call.h"

/* The most parked calls. The question of a further one is denied. */
#define PARKED_MAX 16
/* How long the result of a parked call is kept for the client. */
#define PARKED_MS (600 * 1000)
/* The key of Remit's question in requests and responses. */
#define OURS "allow"

static const struct {
	const char *word;
	enum remit_answer answer;
} words[] = {
	{ "deny", REMIT_DENY },
	{ "once", REMIT_ALLOW_ONCE },
	{ "run", REMIT_ALLOW_RUN },
};

static enum remit_answer
read_answer(const json_t *result)
{
	const char *action =
		json_string_value(json_object_get(result, "action"));
	const char *word = json_string_value(
		json_object_get(json_object_get(result, "content"), "answer"));

	if (!action || strcmp(action, "accept") != 0 || !word)
		return REMIT_DENY;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].word, word))
			return words[i].answer;
	return REMIT_DENY;
}

/* The code controls the name of the host or tool, so it is quoted and
   truncated. */
static json_t *
question_params(const char *kind, const char *subject)
{
	json_auto_t *shown = text_to_json(subject, strnlen(subject, 300));
	own_mem char *quoted =
		json_dumps(shown, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	char message[2500];

	if (!quoted)
		return NULL;
	snprintf(message, sizeof(message),
		 "The Python program wants to %s %s. Do you allow it?",
		 !strcmp(kind, "host") ? "connect to the host" : "use", quoted);
	return json_pack(
		"{s:s, s:{s:s, s:{s:{s:s, s:s, s:s, s:[s, s, s]}}, s:[s]}}",
		"message", message, "requestedSchema", "type", "object",
		"properties", "answer", "type", "string", "title", "Answer",
		"description",
		"once: allow it this time. run: allow it until this program "
		"ends.",
		"enum", "deny", "once", "run", "required", "answer");
}

static void
deny_question(struct mcp *m, const char *id)
{
	/* If this fails, the question has been answered, or its run has
	   ended. */
	if (hosted_table_answer_question(m->hosted_table, m->owner, id,
					 REMIT_DENY) < 0)
		return;
}

/* ---- up to 2025-11-25: a request to the client ---- */

/* Called with the lock. Returns false if the call has no client to ask. */
static bool
note_question(struct mcp_call *c, const char *id, const char *pending_id)
{
	if (!c->listed || c->cancelled || !c->peer)
		return false;
	snprintf(c->question, sizeof(c->question), "%s", id);
	snprintf(c->pending_id, sizeof(c->pending_id), "%s", pending_id);
	return true;
}

static void
send_request(struct mcp_call *c, const char *id, json_t *params)
{
	struct mcp_sink sink;
	own_mem char *text = NULL;
	bool noted;

	pthread_mutex_lock(&c->mcp->lock);
	noted = note_question(c, id, id);
	sink = c->sink;
	pthread_mutex_unlock(&c->mcp->lock);
	text = mcp_write_notice(id, "elicitation/create", params);
	if (noted && text)
		sink.send(sink.user, text, strlen(text));
	else
		deny_question(c->mcp, id);
}

/* Called with the lock. */
static struct mcp_call *
find_pending(struct mcp *m, const struct mcp_peer *p, const char *pending_id)
{
	struct mcp_call *c = m->calls;

	while (c && (c->peer != p || !c->pending_id[0] ||
		     strcmp(c->pending_id, pending_id) != 0))
		c = c->next;
	return c;
}

void
mcp_elicit_response(struct mcp_peer *p, const struct mcp_message *msg)
{
	const char *pending_id = json_string_value(msg->id);
	char id[HOSTED_ID_SIZE] = "";
	struct mcp_call *c;

	pthread_mutex_lock(&p->mcp->lock);
	c = pending_id ? find_pending(p->mcp, p, pending_id) : NULL;
	if (c) {
		memcpy(id, c->question, sizeof(id));
		c->pending_id[0] = '\0';
	}
	pthread_mutex_unlock(&p->mcp->lock);
	/* If this fails, the hosted session has ended meanwhile. */
	if (id[0] &&
	    hosted_table_answer_question(p->mcp->hosted_table, p->mcp->owner,
					 id, read_answer(msg->result)) < 0)
		return;
}

/* ---- since 2026-07-28: a result that requires input ---- */

/* Called with the lock. Returns a parked call that has expired, or NULL, and
   counts parked calls. */
static struct mcp_call *
find_expired(struct mcp *m, size_t *parked)
{
	uint64_t now = mcp_now_ms();
	struct mcp_call *expired = NULL;

	*parked = 0;
	for (struct mcp_call *c = m->calls; c; c = c->next) {
		if (c->peer)
			continue;
		(*parked)++;
		if (c->answer && now - c->parked_ms > PARKED_MS)
			expired = c;
	}
	return expired;
}

static json_t *
input_required(json_t *params, const char *state)
{
	return json_pack("{s:s, s:{s:{s:s, s:o}}, s:s}", "resultType",
			 "input_required", "inputRequests", OURS, "method",
			 "elicitation/create", "params", params, "requestState",
			 state);
}

static void
park_call(struct mcp_call *c, const char *id, json_t *params)
{
	char state[HOSTED_ID_SIZE];
	struct mcp_peer *peer;
	struct mcp_sink sink;
	struct mcp_call *expired;
	json_auto_t *result = NULL;
	own_mem char *text = NULL;
	struct remit_error err;
	size_t parked;
	bool noted = false;

	if (hosted_make_id(state, &err) == 0) {
		result = input_required(params, state);
		text = result ? mcp_write_result(c->id, result) : NULL;
	} else {
		json_decref(params);
	}
	pthread_mutex_lock(&c->mcp->lock);
	expired = find_expired(c->mcp, &parked);
	if (text && (expired || parked < PARKED_MAX))
		noted = note_question(c, id, state);
	sink = c->sink;
	peer = c->peer;
	if (noted) {
		c->peer = NULL;
		json_decref(c->wanted);
		c->wanted = json_incref(result);
		c->parked_ms = mcp_now_ms();
	}
	pthread_mutex_unlock(&c->mcp->lock);
	if (expired)
		mcp_call_drop(expired);
	if (!noted) {
		deny_question(c->mcp, id);
		return;
	}
	sink.end(sink.user, text, strlen(text), 0);
	pthread_mutex_lock(&c->mcp->lock);
	mcp_peer_unref(peer);
	pthread_mutex_unlock(&c->mcp->lock);
}

void
mcp_elicit_question(void *call, const char *id, const struct remit_question *q)
{
	struct mcp_call *c = call;
	json_t *params =
		c->elicits ? question_params(q->kind, q->subject) : NULL;

	if (!params)
		deny_question(c->mcp, id);
	else if (c->version->stateless)
		park_call(c, id, params);
	else
		send_request(c, id, params);
}

/* Called with the lock. Move the peer, sink and ids of c to the parked call,
   which continues as c's request. */
static void
move_request(struct mcp_call *c, struct mcp_call *parked)
{
	parked->peer = c->peer;
	parked->sink = c->sink;
	json_decref(parked->id);
	json_decref(parked->progress_token);
	parked->id = c->id;
	parked->progress_token = c->progress_token;
	parked->pending_id[0] = '\0';
	/* The parked call owns these now. */
	c->peer = NULL;
	c->id = c->progress_token = NULL;
}

static bool
is_same_request(const struct mcp_call *a, const struct mcp_call *b)
{
	return a->tool == b->tool && json_equal(a->arguments, b->arguments);
}

bool
mcp_elicit_resume(struct mcp_call *c)
{
	const char *state = json_string_value(
		json_object_get(c->msg.params, "requestState"));
	const json_t *response = json_object_get(
		json_object_get(c->msg.params, "inputResponses"), OURS);
	struct mcp_fault fault = { 0 };
	struct mcp_call *parked;
	char id[HOSTED_ID_SIZE] = "";
	json_t *answer = NULL, *again = NULL;

	if (!state)
		return false;
	pthread_mutex_lock(&c->mcp->lock);
	parked = find_pending(c->mcp, NULL, state);
	if (parked && !is_same_request(parked, c))
		parked = NULL;
	if (parked && !response) {
		again = json_deep_copy(parked->wanted);
	} else if (parked) {
		refcount_inc(&parked->refs);
		move_request(c, parked);
		memcpy(id, parked->question, sizeof(id));
		answer = take_ptr(&parked->answer);
	}
	pthread_mutex_unlock(&c->mcp->lock);
	if (!parked) {
		mcp_fail(&fault, MCP_E_PARAMS,
			 "no pending request has this requestState");
		mcp_call_fail(c, &fault);
		return true;
	}
	if (!response) {
		mcp_call_finish(c, again);
		return true;
	}
	mcp_call_drop(c);
	if (answer)
		mcp_call_finish(parked, answer);
	else if (hosted_table_answer_question(c->mcp->hosted_table,
					      c->mcp->owner, id,
					      read_answer(response)) < 0)
		id[0] = '\0'; /* the hosted session no longer waits for the
				 answer */
	mcp_call_unref(parked);
	return true;
}
