#include "serve/mcp_http.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mcp/message.h"
#include "mcp/method.h"
#include "serve/mcp_clients.h"

#define HEADER_SESSION "Mcp-Session-Id"

/* The tools that MCP offers to one key. */
struct offer {
	struct offer *next;
	struct mcp_http *http;
	struct key *key;
	struct mcp *mcp;
	struct mcp_clients clients;
};

struct mcp_http {
	struct server *server;
	pthread_mutex_t lock; /* for the members below */
	struct offer *offers;
};

/* A message that is being answered. */
struct post {
	struct exchange *x;
	struct offer *offer;
	struct mcp_client *client; /* NULL: the peer belongs to the post */
	struct mcp_peer *peer;
	bool stateless, lacks_meta;
	bool may_stream; /* the client accepts a stream of events */
	pthread_mutex_t lock;
	bool streams, ended;
	unsigned parts; /* references: the HTTP thread and the worker */
};

/* ---- headers ---- */

/* Since 2026-07-28 headers repeat parts of the message, so that proxies need
   not parse it. */
#define MCP_HEADER_VERSION "Mcp-Protocol-Version"
#define MCP_META_VERSION   "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAN	   "io.modelcontextprotocol/clientCapabilities"

/* "=?base64?...?=" encodes a text that a header cannot contain. */
static bool
header_is(const struct exchange *x, const char *name, const char *want)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	struct http_text h = exchange_header(x, name);
	own_mem char *bytes = NULL;
	size_t len;

	if (!h.text)
		return false;
	if (h.len >= strlen(begin) + strlen(end) &&
	    !strncmp(h.text, begin, strlen(begin)) &&
	    !strncmp(h.text + h.len - 2, end, 2)) {
		if (base64_decode(h.text + strlen(begin),
				  h.len - strlen(begin) - strlen(end), &bytes,
				  &len) < 0)
			return false;
		return strlen(want) == len && !memcmp(bytes, want, len);
	}
	return strlen(want) == h.len && !strncmp(h.text, want, h.len);
}

/* The text that the header Mcp-Name must repeat, or NULL. */
static const char *
name_in_message(const struct mcp_message *msg)
{
	if (!strcmp(msg->method, "tools/call") ||
	    !strcmp(msg->method, "prompts/get"))
		return json_string_value(json_object_get(msg->params, "name"));
	if (!strcmp(msg->method, "resources/read"))
		return json_string_value(json_object_get(msg->params, "uri"));
	return NULL;
}

/* Returns -1 with a fault if a header differs from the message. */
static int
mcp_headers_check(const struct exchange *x, const struct mcp_message *msg,
		  struct mcp_fault *fault)
{
	const char *version =
		json_string_value(mcp_message_meta(msg, MCP_META_VERSION));
	const char *name;

	if (msg->kind != MCP_REQUEST)
		return 0;
	if (version && !header_is(x, MCP_HEADER_VERSION, version))
		return mcp_fail(fault, MCP_E_HEADER,
				"the header " MCP_HEADER_VERSION
				" differs from _meta");
	if (!header_is(x, "Mcp-Method", msg->method))
		return mcp_fail(
			fault, MCP_E_HEADER,
			"the header Mcp-Method differs from the method");
	name = name_in_message(msg);
	if (name && !header_is(x, "Mcp-Name", name))
		return mcp_fail(fault, MCP_E_HEADER,
				"the header Mcp-Name differs from the name or "
				"uri in params");
	return 0;
}

/* Whether a request states its revision, in the message or in a header. */
static bool
mcp_headers_are_stateless(const struct exchange *x,
			  const struct mcp_message *msg)
{
	struct http_text h = exchange_header(x, MCP_HEADER_VERSION);
	char name[16];

	if (mcp_message_meta(msg, MCP_META_VERSION))
		return true;
	/* The message does not state a version: use the header. The reply will
	   report what is missing. */
	if (!h.text || h.len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)h.len, h.text);
	return mcp_version_find(name) && mcp_version_find(name)->stateless;
}

/* ---- offers ---- */

struct mcp_http *
mcp_http_open(struct server *s)
{
	struct mcp_http *http = calloc(1, sizeof(*http));

	if (http) {
		http->server = s;
		pthread_mutex_init(&http->lock, NULL);
	}
	return http;
}

static void
offer_free(struct offer *o)
{
	mcp_clients_free(&o->clients);
	mcp_free(o->mcp);
	free(o);
}

void
mcp_http_free(struct mcp_http *http)
{
	if (!http)
		return;
	while (http->offers) {
		struct offer *o = http->offers;

		http->offers = o->next;
		offer_free(o);
	}
	pthread_mutex_destroy(&http->lock);
	free(http);
}

static int
admit_offer(void *user, uint64_t memory_bytes, struct remit_error *err)
{
	const struct offer *o = user;

	return server_check_limits(o->http->server, o->key, memory_bytes, err);
}

static struct offer *
find_offer(struct mcp_http *http, const struct key *key)
{
	struct offer *o;

	pthread_mutex_lock(&http->lock);
	for (o = http->offers; o && o->key != key; o = o->next)
		;
	pthread_mutex_unlock(&http->lock);
	return o;
}

/* Blocks until the keeper answers. */
static struct offer *
make_offer(struct mcp_http *http, struct key *key, struct remit_error *err)
{
	struct offer *o = calloc(1, sizeof(*o)), *first;
	struct mcp_options opt = {
		.remit = http->server->remit,
		.hosted_table = http->server->hosted_table,
		.store = http->server->artifacts,
		.owner = key->name,
		.policy = &key->policy,
		.admit = admit_offer,
		.user = o,
	};

	if (!o) {
		fail_memory(err, "offer");
		return NULL;
	}
	o->http = http;
	o->key = key;
	if (mcp_open(&o->mcp, &opt, err) < 0) {
		free(o);
		return NULL;
	}
	mcp_clients_open(&o->clients, o->mcp);
	pthread_mutex_lock(&http->lock);
	for (first = http->offers; first && first->key != key;
	     first = first->next)
		;
	if (!first) {
		o->next = http->offers;
		http->offers = o;
	}
	pthread_mutex_unlock(&http->lock);
	if (first)
		offer_free(o); /* another request has just made one */
	return first ? first : o;
}

/* ---- replies ---- */

static void
reply_fault(struct exchange *x, int status, json_t *id, struct mcp_fault *fault)
{
	own_mem char *text = mcp_write_error(id, fault);

	reply_bytes(x, status, "application/json", text ? text : "",
		    text ? strlen(text) : 0);
	mcp_fault_free(fault);
}

static void
reply_simple(struct exchange *x, int status, enum mcp_code code,
	     const char *text)
{
	struct mcp_fault fault = { 0 };

	mcp_fail(&fault, code, "%s", text);
	reply_fault(x, status, NULL, &fault);
}

/* Older clients treat any status but 200 as a broken connection. */
static int
post_status(const struct post *p, int code)
{
	if (!code || !p->stateless)
		return 200;
	switch (code) {
	case MCP_E_METHOD:
		return 404;
	case MCP_E_PARAMS:
		return p->lacks_meta ? 400 : 200;
	case MCP_E_REQUEST:
	case MCP_E_VERSION:
		return 400;
	default:
		return 200;
	}
}

/* Called with the lock held. */
static void
begin_stream(struct post *p)
{
	if (p->streams || p->ended || !p->may_stream)
		return;
	p->streams = true;
	reply_header(p->x, "X-Accel-Buffering", "no");
	reply_keepalive(p->x, ":\n\n");
	reply_begin(p->x, 200, "text/event-stream");
}

static void
send_event(struct post *p, const char *json, size_t len)
{
	/* post_on_gone() handles a client that disconnects. */
	if (reply_piece(p->x, "event: message\ndata: ", 21) < 0 ||
	    reply_piece(p->x, json, len) < 0 ||
	    reply_piece(p->x, "\n\n", 2) < 0)
		return;
}

static void
post_on_send(void *user, const char *json, size_t len)
{
	struct post *p = user;

	pthread_mutex_lock(&p->lock);
	begin_stream(p);
	pthread_mutex_unlock(&p->lock);
	if (p->may_stream)
		send_event(p, json, len);
}

/* Freed with the exchange, which may call post_on_gone() until then. */
static void
post_free(void *post)
{
	struct post *p = post;

	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void
post_unref(struct post *p)
{
	bool last;

	pthread_mutex_lock(&p->lock);
	last = --p->parts == 0;
	pthread_mutex_unlock(&p->lock);
	if (!last)
		return;
	if (p->client)
		mcp_clients_put(&p->offer->clients, p->client);
	else
		mcp_peer_close(p->peer);
	exchange_unref_sent(p->x);
}

static void
post_on_end(void *user, const char *json, size_t len, int code)
{
	struct post *p = user;
	bool streams;

	pthread_mutex_lock(&p->lock);
	streams = p->streams;
	p->ended = true;
	pthread_mutex_unlock(&p->lock);
	if (streams && json)
		send_event(p, json, len);
	if (streams)
		reply_end(p->x);
	else if (json)
		reply_bytes(p->x, post_status(p, code), "application/json",
			    json, len);
	else
		reply_bytes(p->x, 202, NULL, "", 0);
	post_unref(p);
}

static void
post_on_gone(void *user)
{
	struct post *p = user;

	mcp_cancel(p->offer->mcp, p);
}

/* ---- one message ---- */

/* A client without an Accept header accepts everything. */
static bool
reads_events(const struct exchange *x)
{
	struct http_text accept = exchange_header(x, "Accept");
	own_mem char *text =
		accept.text ? strndup(accept.text, accept.len) : NULL;

	return !text || strstr(text, "text/event-stream") ||
	       strstr(text, "*/*");
}

static void
begin_post(struct offer *o, struct exchange *x, struct mcp_client *client,
	   struct mcp_message *msg, bool stateless)
{
	struct post *p = calloc(1, sizeof(*p));
	struct mcp_sink sink = { .send = post_on_send,
				 .end = post_on_end,
				 .user = p };

	if (p)
		p->peer = client ? client->peer : mcp_peer_open(o->mcp);
	if (!p || !p->peer) {
		free(p);
		mcp_message_free(msg);
		if (client)
			mcp_clients_put(&o->clients, client);
		reply_simple(x, 500, MCP_E_INTERNAL, "no memory");
		return;
	}
	p->x = exchange_ref(x);
	p->offer = o;
	p->client = client;
	p->stateless = stateless;
	p->lacks_meta = !mcp_message_meta(msg, MCP_META_VERSION) ||
			!mcp_message_meta(msg, MCP_META_CAN);
	p->may_stream = reads_events(x);
	p->parts = 2;
	pthread_mutex_init(&p->lock, NULL);
	exchange_own(x, p, post_free);
	mcp_receive_message(p->peer, msg, &sink);
	exchange_on_gone(x, post_on_gone, p);
	/* Not answered immediately: it will take longer, so the stream
	   begins. */
	pthread_mutex_lock(&p->lock);
	begin_stream(p);
	pthread_mutex_unlock(&p->lock);
	post_unref(p);
}

/* ---- up to 2025-11-25: a session by a header ---- */

static void
begin_in_session(struct offer *o, struct exchange *x, struct mcp_message *msg)
{
	struct http_text id = exchange_header(x, HEADER_SESSION);
	bool begins =
		msg->kind == MCP_REQUEST && !strcmp(msg->method, "initialize");
	struct mcp_client *c = NULL;

	if (begins && !id.text) {
		c = mcp_clients_add(&o->clients);
		if (c)
			reply_header(x, HEADER_SESSION, c->id);
	} else if (id.text) {
		c = mcp_clients_find(&o->clients, id);
	}
	if (c) {
		begin_post(o, x, c, msg, false);
		return;
	}
	mcp_message_free(msg);
	if (!id.text)
		reply_simple(x, 400, MCP_E_REQUEST,
			     "a request needs the header " HEADER_SESSION
			     ", which initialize gives, or _meta with the "
			     "protocol version");
	else
		reply_simple(x, 404, MCP_E_REQUEST,
			     "there is no such session, or it has ended");
}

/* A message with too many values is refused by its parser. */
static bool
body_fits(struct exchange *x)
{
	const struct buf *data = &x->body.data;
	size_t values = json_shape_of(buf_text(data), data->len).values;
	enum body_space space = BODY_FITS;

	if (values <= JSON_VALUES_MAX)
		space = server_charge_values(x, values);
	if (space != BODY_FITS)
		reply_simple(x, server_body_refusals[space].status,
			     MCP_E_INTERNAL,
			     server_body_refusals[space].message);
	return space == BODY_FITS;
}

static void
answer_message(struct offer *o, struct exchange *x)
{
	struct mcp_fault fault = { 0 };
	struct mcp_message msg;
	bool is_read = mcp_message_read(&msg, buf_text(&x->body.data),
					x->body.data.len, &fault) == 0;
	bool stateless = is_read && mcp_headers_are_stateless(x, &msg);

	if (!is_read || (stateless && mcp_headers_check(x, &msg, &fault) < 0)) {
		reply_fault(x, 400, msg.id, &fault);
		mcp_message_free(&msg);
	} else if (stateless) {
		begin_post(o, x, NULL, &msg, true);
	} else {
		begin_in_session(o, x, &msg);
	}
}

/* ---- routes ---- */

static void
first_post(struct exchange *x)
{
	struct remit_error err;
	struct offer *o = make_offer(x->server->mcp, x->key, &err);

	if (o)
		answer_message(o, x);
	else
		reply_error(x, &err);
}

static void
post_message(struct exchange *x)
{
	struct offer *o = find_offer(x->server->mcp, x->key);

	if (!exchange_is_json(x))
		reply_simple(x, 415, MCP_E_REQUEST,
			     "the body must be \"Content-Type: "
			     "application/json\"");
	else if (!body_fits(x))
		return;
	else if (o)
		answer_message(o, x);
	else
		exchange_in_thread(x, first_post);
}

static void
delete_session(struct exchange *x)
{
	struct http_text id = exchange_header(x, HEADER_SESSION);
	struct offer *o = find_offer(x->server->mcp, x->key);

	if (!o || !id.text || !mcp_clients_remove(&o->clients, id)) {
		reply_simple(x, 404, MCP_E_REQUEST,
			     "there is no such session, or it has ended");
		return;
	}
	reply_bytes(x, 204, NULL, "", 0);
}

const struct route mcp_routes[] = {
	{
		.method = "POST",
		.pattern = "/mcp",
		.serve = post_message,
		.body = BODY_BYTES,
		.body_max = MCP_MESSAGE_MAX,
	},
	{
		.method = "DELETE",
		.pattern = "/mcp",
		.serve = delete_session,
	},
	{ 0 },
};
