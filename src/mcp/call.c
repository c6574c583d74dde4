#include "mcp/call.h"

#include <string.h>
#include <time.h>

#include "base/text.h"

/* The time between two progress notifications, and the longest text in one. */
#define PROGRESS_MS  100
#define PROGRESS_MAX 4096

uint64_t
mcp_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void
mcp_peer_ref(struct mcp_peer *p)
{
	refcount_inc(&p->refs);
}

void
mcp_peer_unref(struct mcp_peer *p)
{
	if (p && refcount_dec_and_test(&p->refs))
		free(p);
}

/* ---- begin and end ---- */

static bool
is_id_in_use(const struct mcp_peer *p, const json_t *id)
{
	for (const struct mcp_call *c = p->mcp->calls; c; c = c->next)
		if (c->peer == p && !c->cancelled && json_equal(c->id, id) &&
		    p->version)
			return true;
	return false;
}

/* Called with the lock. */
static int
call_enlist(struct mcp_call *c, struct mcp_fault *fault)
{
	struct mcp *m = c->mcp;

	if (m->call_count >= MCP_CALLS_MAX)
		return mcp_fail(fault, MCP_E_INTERNAL,
				"busy: %d requests are in progress",
				MCP_CALLS_MAX);
	if (is_id_in_use(c->peer, c->id))
		return mcp_fail(fault, MCP_E_REQUEST,
				"a request with this id is in progress");
	c->next = m->calls;
	m->calls = c;
	m->call_count++;
	c->listed = true;
	refcount_inc(&c->refs);
	return 0;
}

struct mcp_call *
mcp_call_begin(struct mcp_peer *p, struct mcp_message *msg,
	       const struct mcp_sink *sink, struct mcp_fault *fault)
{
	struct mcp_call *c = calloc(1, sizeof(*c));
	int failed;

	if (!c) {
		mcp_fail(fault, MCP_E_INTERNAL, "no memory");
		return NULL;
	}
	c->mcp = p->mcp;
	c->refs = (struct refcount)REFCOUNT_INIT(1);
	c->sink = *sink;
	c->peer = p;
	c->id = json_incref(msg->id);
	c->progress_token = json_incref(mcp_message_meta(msg, META_PROGRESS));
	pthread_mutex_lock(&p->mcp->lock);
	mcp_peer_ref(p);
	failed = call_enlist(c, fault);
	if (!failed) {
		c->msg = *msg;
		*msg = (struct mcp_message){ 0 };
	}
	pthread_mutex_unlock(&p->mcp->lock);
	if (!failed)
		return c;
	mcp_call_unref(c);
	return NULL;
}

struct mcp_call *
mcp_call_ref(struct mcp_call *c)
{
	refcount_inc(&c->refs);
	return c;
}

static void
call_free(struct mcp_call *c)
{
	if (c->hosted)
		hosted_unref(c->hosted);
	if (c->free_work)
		c->free_work(c->work);
	json_decref(c->id);
	json_decref(c->progress_token);
	json_decref(c->answer);
	json_decref(c->wanted);
	mcp_message_free(&c->msg);
	free(c);
}

void
mcp_call_unref(struct mcp_call *c)
{
	struct mcp *m = c->mcp;
	bool last;

	pthread_mutex_lock(&m->lock);
	last = refcount_dec_and_test(&c->refs);
	if (last) {
		mcp_peer_unref(c->peer);
		c->peer = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	if (last)
		call_free(c);
}

/* Called with the lock. Returns false if the call has ended already. */
static bool
call_unlist(struct mcp_call *c)
{
	struct mcp_call **at = &c->mcp->calls;

	if (!c->listed)
		return false;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->mcp->call_count--;
	c->listed = false;
	return true;
}

/* End a call. Takes ownership of the text; NULL means out of memory. */
static void
call_end(struct mcp_call *c, char *text, int code)
{
	struct mcp_sink sink;
	bool cancelled, was_listed, has_peer;

	pthread_mutex_lock(&c->mcp->lock);
	was_listed = call_unlist(c);
	sink = c->sink;
	cancelled = c->cancelled;
	has_peer = c->peer != NULL;
	pthread_mutex_unlock(&c->mcp->lock);
	if (was_listed) {
		if (has_peer && (cancelled || !text))
			sink.end(sink.user, NULL, 0, 0);
		else if (has_peer)
			sink.end(sink.user, text, strlen(text), code);
		mcp_call_unref(c);
	}
	free(text);
}

void
mcp_call_drop(struct mcp_call *c)
{
	bool was_listed;

	pthread_mutex_lock(&c->mcp->lock);
	was_listed = call_unlist(c);
	pthread_mutex_unlock(&c->mcp->lock);
	if (was_listed)
		mcp_call_unref(c);
}

void
mcp_call_fail(struct mcp_call *c, struct mcp_fault *fault)
{
	call_end(c, mcp_write_error(c->id, fault), fault->code);
}

/* Add the members that every result has since 2026-07-28. */
static void
add_stateless_members(json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");

	if (!json_object_get(result, "resultType"))
		json_object_set_new(result, "resultType",
				    json_string("complete"));
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, META_SERVER,
			    json_pack("{s:s, s:s}", "name", "remit", "version",
				      remit_version()));
}

/* Returns true if the call is parked: the result is then kept until the client
   comes back. */
static bool
keep_answer(struct mcp_call *c, json_t *result)
{
	bool parked;

	pthread_mutex_lock(&c->mcp->lock);
	parked = c->listed && !c->peer;
	if (parked)
		c->answer = result;
	pthread_mutex_unlock(&c->mcp->lock);
	return parked;
}

void
mcp_call_finish(struct mcp_call *c, json_t *result)
{
	struct mcp_fault fault = { 0 };

	if (!result) {
		mcp_fail(&fault, MCP_E_INTERNAL, "no memory");
		mcp_call_fail(c, &fault);
		return;
	}
	if (c->version && c->version->stateless)
		add_stateless_members(result);
	if (keep_answer(c, result))
		return;
	call_end(c, mcp_write_result(c->id, result), 0);
	json_decref(result);
}

/* ---- progress and hosted sessions ---- */

/* Cancel the work of a hosted session for a call. If the session was made for
   the call, end it: no other client knows its id. */
static void
stop_hosted(struct hosted *hosted, uint64_t number, bool made)
{
	if (made)
		hosted_drop(hosted);
	else if (number)
		hosted_cancel(hosted, number);
	hosted_unref(hosted);
}

/* Called with the lock. Returns the hosted session to stop, or NULL. */
static struct hosted *
if_cancelled(struct mcp_call *c)
{
	return c->cancelled && c->hosted ? hosted_ref(c->hosted) : NULL;
}

void
mcp_call_enter(void *call, struct hosted *hosted)
{
	struct mcp_call *c = call;
	struct hosted *stopped;

	pthread_mutex_lock(&c->mcp->lock);
	if (!c->hosted)
		c->hosted = hosted_ref(hosted);
	stopped = if_cancelled(c);
	pthread_mutex_unlock(&c->mcp->lock);
	if (stopped)
		stop_hosted(stopped, 0, c->made_hosted);
}

void
mcp_call_number(struct mcp_call *c, uint64_t number)
{
	struct hosted *stopped;

	pthread_mutex_lock(&c->mcp->lock);
	c->number = number;
	stopped = if_cancelled(c);
	pthread_mutex_unlock(&c->mcp->lock);
	if (stopped)
		stop_hosted(stopped, number, c->made_hosted);
}

void
mcp_call_progress(struct mcp_call *c, const char *text, size_t len)
{
	struct mcp_sink sink = { 0 };
	uint64_t now = mcp_now_ms();
	own_mem char *notice = NULL;
	json_t *token = NULL;

	if (now - c->progress_ms < PROGRESS_MS)
		return;
	pthread_mutex_lock(&c->mcp->lock);
	if (c->peer && !c->cancelled && c->listed && c->progress_token) {
		sink = c->sink;
		token = json_incref(c->progress_token);
	}
	pthread_mutex_unlock(&c->mcp->lock);
	if (!token)
		return;
	c->progress_ms = now;
	if (len > PROGRESS_MAX) {
		text += len - PROGRESS_MAX;
		len = PROGRESS_MAX;
	}
	notice = mcp_write_notice(
		NULL, "notifications/progress",
		json_pack("{s:o, s:I, s:o*}", "progressToken", token,
			  "progress", (json_int_t)++c->progress, "message",
			  text_to_json(text, len)));
	if (notice)
		sink.send(sink.user, notice, strlen(notice));
}

/* ---- cancelling ---- */

static bool
is_meant(const struct mcp_call *c, const struct mcp_peer *p, const json_t *id,
	 const void *user)
{
	if (!c->peer || c->cancelled)
		return false;
	if (user)
		return c->sink.user == user;
	return c->peer == p && (!id || json_equal(c->id, id));
}

static void
cancel_calls(struct mcp *m, const struct mcp_peer *p, const json_t *id,
	     const void *user)
{
	struct mcp_call *c;
	struct hosted *hosted = NULL;
	uint64_t number = 0;
	bool made = false;

	/* Cancel calls one by one, since a hosted session must be stopped
	   without the lock. */
	do {
		pthread_mutex_lock(&m->lock);
		for (c = m->calls; c && !is_meant(c, p, id, user); c = c->next)
			;
		if (c) {
			c->cancelled = true;
			hosted = c->hosted ? hosted_ref(c->hosted) : NULL;
			number = c->number;
			made = c->made_hosted;
		}
		pthread_mutex_unlock(&m->lock);
		if (c && hosted)
			stop_hosted(hosted, number, made);
	} while (c);
}

void
mcp_call_cancel_id(struct mcp_peer *p, const json_t *id)
{
	cancel_calls(p->mcp, p, id, NULL);
}

void
mcp_call_cancel_peer(struct mcp_peer *p)
{
	cancel_calls(p->mcp, p, NULL, NULL);
}

void
mcp_call_cancel_sink(struct mcp *m, const void *user)
{
	cancel_calls(m, NULL, NULL, user);
}
