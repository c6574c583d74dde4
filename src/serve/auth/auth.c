/*
 * auth: decides which requests the server accepts. A browser on the same
 * machine is not trusted: pages of other origins must not reach the server by
 * any host name or method.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "serve/compat/foreign.h"
#include "serve/exchange_part.h"
#include "serve/server.h"

/* Charged for each JSON value in addition to its text: an empty object has two
   bytes of text and takes four times this much memory. */
#define VALUE_BYTES 64

/* ---- names ---- */

static bool
is_listed(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *item = l->items[i];
		size_t len = strlen(item), have = strlen(name);

		if (!strcmp(item, name) || (item[0] == '.' && have > len &&
					    !strcmp(name + have - len, item)))
			return true;
	}
	return false;
}

/* Whether the Host header names this server. Other names may be resolved to it
   by a foreign DNS server (DNS rebinding). */
static bool
is_our_host(const struct exchange *x)
{
	static const char *const ours[] = { "localhost", "127.0.0.1", "::1" };

	if (!x->port)
		return true; /* a unix socket: browsers cannot connect */
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!strcmp(x->parsed.host, ours[i]))
			return true;
	return is_listed(&x->server->hosts, x->parsed.host);
}

/* Whether the origin was allowed with --allow-origin: its pages may also read
   the reply. */
static bool
is_named_origin(struct exchange *x, const char *origin)
{
	for (size_t i = 0; i < x->server->origins.count; i++)
		if (!strcmp(origin, x->server->origins.items[i])) {
			reply_header(x, "Access-Control-Allow-Origin", origin);
			reply_header(x, "Vary", "Origin");
			return true;
		}
	return false;
}

/* Whether the origin is this server itself, or was allowed. */
static bool
is_our_origin(struct exchange *x)
{
	struct http_text origin = exchange_header(x, "origin");
	struct http_text host = exchange_header(x, "host");
	char text[512];

	if (!origin.text)
		return true;
	if (origin.len >= sizeof(text))
		return false;
	memcpy(text, origin.text, origin.len);
	text[origin.len] = '\0';
	if (is_named_origin(x, text))
		return true;
	return (!strncmp(text, "http://", 7) && strlen(text + 7) == host.len &&
		!strncasecmp(text + 7, host.text, host.len)) ||
	       (!strncmp(text, "https://", 8) && strlen(text + 8) == host.len &&
		!strncasecmp(text + 8, host.text, host.len));
}

/* A browser's CORS preflight for a request of another origin. */
static bool
is_preflight(const struct exchange *x)
{
	return x->server->origins.count && !strcmp(x->method, "OPTIONS") &&
	       exchange_header(x, "origin").text &&
	       exchange_header(x, "access-control-request-method").text;
}

static void
answer_preflight(struct exchange *x)
{
	reply_header(x, "Access-Control-Allow-Methods",
		     "GET, POST, PUT, DELETE");
	reply_header(x, "Access-Control-Allow-Headers",
		     "Authorization, Content-Type, X-API-Key");
	reply_header(x, "Access-Control-Max-Age", "600");
	reply_bytes(x, 204, NULL, "", 0);
}

/* ---- keys ---- */

static struct key *
find_key(const struct exchange *x)
{
	const struct keys *k = x->server->keys;
	struct http_text bearer = exchange_header(x, "authorization");
	struct http_text plain = exchange_header(x, "x-api-key");

	/* Only the server's own user can connect to the unix socket. */
	if (k->is_open || (k->is_local && !x->port))
		return &k->all[0];
	if (bearer.len > 7 && !strncasecmp(bearer.text, "Bearer ", 7))
		return keys_find(k, bearer.text + 7, bearer.len - 7);
	return plain.len ? keys_find(k, plain.text, plain.len) : NULL;
}

static int
auth_check_key(struct exchange *x)
{
	x->key = x->payer = find_key(x);
	if (!x->key && x->route->is_open)
		return 0;
	if (!x->key) {
		reply_header(x, "WWW-Authenticate", "Bearer");
		reply_fail(x, 401, "key",
			   "a key is required: \"Authorization: Bearer KEY\" "
			   "or \"X-API-Key: KEY\"");
		return -1;
	}
	if (!keys_spend(x->key, loop_now_us())) {
		reply_header(x, "Retry-After", "1");
		reply_fail(x, 429, "busy",
			   "too many requests with this key: at most %llu per "
			   "minute",
			   (unsigned long long)x->key->per_minute);
		return -1;
	}
	x->is_counted = true;
	return 0;
}

/* ---- the head ---- */

static int
find_route(struct exchange *x)
{
	struct route_param params[ROUTE_PARAMS_MAX];
	char allowed[64];
	size_t count;

	x->route = route_find(x->server->tables, x, x->method, x->path, params,
			      &count, allowed);
	/* The program in the jail parses the path and the query. */
	if (x->route && x->route->relays)
		return 0;
	if (x->has_bad_query) {
		x->closes = true;
		reply_fail(x, 400, "input",
			   "the request's method or target is malformed");
		return -1;
	}
	if (x->route && exchange_set_params(x, params, count) < 0) {
		reply_fail(x, 400, "input", "the path is malformed");
		return -1;
	}
	if (x->route)
		return 0;
	if (*allowed) {
		reply_header(x, "Allow", allowed);
		reply_fail(x, 405, "input", "this path accepts %s", allowed);
	} else {
		reply_fail(x, 404, "input", "there is nothing at this path%s",
			   foreign_is_built
				   ? ""
				   : "; this server is without the APIs "
				     "of " FOREIGN_NAMES);
	}
	return -1;
}

bool
exchange_is_json(const struct exchange *x)
{
	struct http_text type = exchange_header(x, "content-type");
	const char *end = type.len ? memchr(type.text, ';', type.len) : NULL;

	if (end)
		type.len = (size_t)(end - type.text);
	while (type.len && type.text[type.len - 1] == ' ')
		type.len--;
	return http_head_is(type, "application/json");
}

static int
auth_check_body(struct exchange *x)
{
	const struct http_head *h = &x->parsed;
	bool has_body = h->is_chunked || h->body_bytes;
	size_t most =
		x->route->body_max ? x->route->body_max : ROUTE_JSON_BYTES;

	if (exchange_header(x, "expect").text &&
	    !exchange_header_is(x, "expect", "100-continue")) {
		reply_fail(x, 400, "input",
			   "the Expect header is not supported");
		return -1;
	}
	if (exchange_header(x, "content-encoding").text && has_body &&
	    !exchange_header_is(x, "content-encoding", "identity") &&
	    !(x->route->takes_gzip &&
	      exchange_header_is(x, "content-encoding", "gzip"))) {
		reply_fail(x, 415, "input", "encoded bodies are not accepted");
		return -1;
	}
	if (x->route->body == BODY_NONE && has_body) {
		reply_fail(x, 400, "input",
			   "this request must not have a body");
		return -1;
	}
	if (h->body_bytes > most) {
		reply_fail(x, 413, "input", "the body is larger than %zu bytes",
			   most);
		return -1;
	}
	/* HTML forms of other origins cannot send JSON. */
	if ((x->route->body == BODY_JSON ||
	     (x->route->body == BODY_MAYBE && has_body)) &&
	    !exchange_is_json(x)) {
		reply_fail(x, 415, "input",
			   "the body must be \"Content-Type: "
			   "application/json\"");
		return -1;
	}
	return 0;
}

/* Whether the request is for a program in a jail, which decides for itself what
   pages of other origins may do. */
static bool
is_relayed(struct exchange *x)
{
	struct route_param params[ROUTE_PARAMS_MAX];
	const struct route *r;
	char allowed[64];
	size_t count;

	r = route_find(x->server->tables, x, x->method, x->path, params, &count,
		       allowed);
	return r && r->relays;
}

static int
check_origin(struct exchange *x)
{
	if (!is_our_origin(x)) {
		reply_fail(x, 403, "input",
			   "pages of that origin may not send requests; see "
			   "--allow-origin");
		return -1;
	}
	if (is_preflight(x)) {
		answer_preflight(x);
		return -1;
	}
	return 0;
}

static int
auth_check(struct exchange *x)
{
	if (!is_our_host(x)) {
		reply_fail(x, 421, "input",
			   "this server does not accept that host name; see "
			   "--allow-host");
		return -1;
	}
	if ((!is_relayed(x) && check_origin(x) < 0) || find_route(x) < 0)
		return -1;
	if (x->server->is_draining && !x->route->while_draining) {
		reply_header(x, "Retry-After", "5");
		reply_fail(x, 503, "gone", "the server is shutting down");
		return -1;
	}
	if (auth_check_key(x) < 0 || (x->route->admits && !x->route->admits(x)))
		return -1;
	return x->route->relays ? 0 : auth_check_body(x);
}

int
server_accept_head(struct exchange *x)
{
	if (auth_check(x) < 0) {
		/* The unread body of a refused request cannot be skipped
		   safely. */
		x->closes |= x->parsed.is_chunked || x->parsed.body_bytes;
		return -1;
	}
	x->owner = strdup(x->key ? x->key->name : "");
	if (x->owner)
		return 0;
	reply_fail(x, 500, "memory", "no memory");
	return -1;
}

enum body_space
server_charge_values(struct exchange *x, size_t values)
{
	x->value_bytes = values * VALUE_BYTES;
	return server_charge_body(x, x->value_bytes);
}

static int
auth_check_values(struct exchange *x)
{
	const struct buf *data = &x->body.data;
	size_t values = json_shape_of(buf_text(data), data->len).values;
	enum body_space space;

	if (values > JSON_VALUES_MAX) {
		reply_fail(x, 413, "input", "a body may have at most %d values",
			   JSON_VALUES_MAX);
		return -1;
	}
	space = server_charge_values(x, values);
	if (space == BODY_FITS)
		return 0;
	reply_fail(x, server_body_refusals[space].status, "input", "%s",
		   server_body_refusals[space].message);
	return -1;
}

int
server_accept_body(struct exchange *x)
{
	const struct buf *data = &x->body.data;
	json_error_t wrong;

	if (x->route->body != BODY_JSON && x->route->body != BODY_MAYBE)
		return 0;
	if (auth_check_values(x) < 0)
		return -1;
	if (x->route->body == BODY_MAYBE && !data->len)
		x->json = json_object();
	else
		x->json = json_loadb(buf_text(data), data->len,
				     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
				     &wrong);
	if (json_is_object(x->json))
		return 0;
	reply_fail(x, 400, "input", "the body is not a JSON object: %s",
		   x->json ? "it is another value" : wrong.text);
	return -1;
}
