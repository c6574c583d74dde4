/*
 * e2b_ports: requests to "PORT-ID.any.domain", which are forwarded to the
 * program that listens at this port in the sandbox with this id.
 */
#include <string.h>

#include "base/loop.h"
#include "serve/e2b/part.h"

/* Whoever has one of these can run code in the sandbox, so the program must not
   get them. */
static const char *const secret_headers[] = {
	"x-access-token",
	"e2b-traffic-access-token",
	"e2b-sandbox-id",
	"e2b-sandbox-port",
	NULL,
};

/* How many headers of a request may be such keys. */
#define KEY_HEADERS_MAX 8

/* A connection to a port; the exchange owns it. */
struct port_use {
	struct e2b *e2b;
	struct sandbox *sb;
	unsigned port;
	bool is_counted;
};

static bool
is_other_port(const struct exchange *x)
{
	char id[HOSTED_ID_SIZE];
	unsigned port = e2b_parse_host(x->parsed.host, id);

	return strlen(id) == HOSTED_ID_SIZE - 1 && port != E2B_ENVD_PORT &&
	       port != E2B_CODE_PORT;
}

/* ---- limits ---- */

static bool
count_use(struct exchange *x, struct port_use *u)
{
	const struct server *s = x->server;
	uint64_t most = s->limits.port_connections;
	uint64_t share = serve_limits_share(most, s->key_share);

	pthread_mutex_lock(&u->e2b->lock);
	u->is_counted = u->e2b->port_uses < most &&
			u->sb->key->port_uses < share &&
			u->sb->port_uses < LIMIT_PORT_CONNECTIONS;
	if (u->is_counted) {
		u->e2b->port_uses++;
		u->sb->key->port_uses++;
		u->sb->port_uses++;
	}
	pthread_mutex_unlock(&u->e2b->lock);
	return u->is_counted;
}

static void
port_use_free(void *use)
{
	struct port_use *u = use;

	if (u->is_counted) {
		pthread_mutex_lock(&u->e2b->lock);
		u->e2b->port_uses--;
		u->sb->key->port_uses--;
		u->sb->port_uses--;
		pthread_mutex_unlock(&u->e2b->lock);
	}
	sandbox_unref(u->sb);
	free(u);
}

/* ---- access ---- */

/* Whether this is a key, alone or after a word such as "Bearer". */
static bool
has_key(const struct keys *k, struct http_text value)
{
	size_t at = 0;

	if (value.len && keys_find(k, value.text, value.len))
		return true;
	while (at < value.len && !strchr(" \t", value.text[at]))
		at++;
	while (at < value.len && strchr(" \t", value.text[at]))
		at++;
	return at < value.len && keys_find(k, value.text + at, value.len - at);
}

/* A header Authorization may be meant for the program. A key of this server is
   not, and the program would read it. Comparing takes time, so of many headers
   one counts as a key. */
static bool
shows_key(const struct exchange *x)
{
	struct http_text rest = { x->head.data, x->head.len }, line, name;
	struct http_text value;
	size_t compared = 0;

	if (!http_head_next(&rest, &line)) /* the request line */
		return false;
	while (http_head_next(&rest, &line) && line.len) {
		http_head_split(line, &name, &value);
		if (!http_head_is(name, "x-api-key") &&
		    !http_head_is(name, "authorization"))
			continue;
		if (++compared > KEY_HEADERS_MAX ||
		    has_key(x->server->keys, value))
			return true;
	}
	return false;
}

static bool
may_connect(const struct exchange *x, const struct sandbox *sb)
{
	return (sb->has_public_ports &&
		x->server->sandbox_ports == PORTS_PUBLIC) ||
	       sandbox_has_token(
		       sb, exchange_header(x, "e2b-traffic-access-token"));
}

/* Replies with an error and returns false if the request is refused. */
static bool
check_use(struct exchange *x, struct port_use *u)
{
	struct sandbox *sb = u->sb;

	if (x->server->sandbox_ports == PORTS_CLOSED)
		e2b_fail(x, 502,
			 "no port inside a sandbox can be reached from "
			 "outside, unless the server is started with "
			 "--sandbox-ports");
	else if (sb->why_no_ports)
		e2b_fail(x, 502,
			 "no port inside this sandbox can be reached from "
			 "outside: %s",
			 sb->why_no_ports);
	else if (!u->port || u->port > UINT16_MAX)
		e2b_fail(x, 502, "there is no port %u", u->port);
	else if (!may_connect(x, sb))
		e2b_fail(x, 403,
			 "the ports of this sandbox require its token: "
			 "\"E2B-Traffic-Access-Token: TOKEN\"");
	else if (shows_key(x))
		e2b_fail(x, 400,
			 "the request has a key of this server, which the "
			 "program in the sandbox would read, or more than %d "
			 "headers that could be one: omit it",
			 KEY_HEADERS_MAX);
	else if (!x->key && !keys_spend(sb->key, loop_now_us()))
		e2b_fail(x, 429, "too many requests with this key");
	else if (!count_use(x, u))
		e2b_fail(x, 429,
			 "too many connections to ports inside sandboxes");
	else
		return true;
	return false;
}

static bool
port_admits(struct exchange *x)
{
	char id[HOSTED_ID_SIZE];
	unsigned port = e2b_parse_host(x->parsed.host, id);
	struct sandbox *sb = e2b_find_live(x, id);
	struct port_use *u;

	if (!sb)
		return false;
	u = calloc(1, sizeof(*u));
	if (!u) {
		sandbox_unref(sb);
		e2b_fail(x, 500, "no memory");
		return false;
	}
	*u = (struct port_use){ .e2b = x->server->e2b, .sb = sb };
	exchange_own(x, u, port_use_free);
	u->port = port;
	if (!check_use(x, u))
		return false;
	x->is_counted = true;
	if (!x->payer)
		x->payer = sb->key;
	return true;
}

/* ---- the connection ---- */

/* Runs in a separate thread, because the keeper may be busy. */
static void
connect_to_port(struct exchange *x)
{
	const struct port_use *u = x->owned;
	struct remit_error err;
	int fd;

	if (hosted_port(u->sb->hosted, (uint16_t)u->port, &fd, &err) < 0)
		e2b_fail(x, 502,
			 "the sandbox is running but the port is not open: %s",
			 err.message);
	else
		reply_relay(x, fd, secret_headers);
}

static void
serve_port(struct exchange *x)
{
	exchange_in_thread(x, connect_to_port);
}

const struct route e2b_port_routes[] = {
	{
		.method = "*",
		.pattern = "/{path...}",
		.serve = serve_port,
		.relays = true,
		.is_open = true,
		.applies = is_other_port,
		.admits = port_admits,
		.fail = e2b_fail_text,
	},
	{ 0 },
};
