/*
 * e2b_sandbox: the table of sandboxes, and which requests may use which
 * sandbox.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/loop.h"
#include "base/number.h"
#include "base/text.h"
#include "serve/e2b/files/metadata.h"
#include "serve/e2b/files/watch.h"
#include "serve/e2b/part.h"

int
e2b_open(struct e2b **out, bool debug, struct remit_error *err)
{
	struct e2b *e = calloc(1, sizeof(*e));

	if (!e)
		return fail_memory(err, "sandboxes");
	pthread_mutex_init(&e->lock, NULL);
	e->debug = debug;
	*out = e;
	return 0;
}

/* ---- one sandbox ---- */

static void
context_free(struct context *c)
{
	free(c->cwd);
	free(c);
}

static void
sandbox_free(struct sandbox *sb)
{
	while (sb->contexts) {
		struct context *c = sb->contexts;

		sb->contexts = c->next;
		context_free(c);
	}
	watchers_unref(sb->watchers);
	metadata_free(sb->metadata_of_files);
	pthread_mutex_destroy(&sb->metadata_lock);
	json_decref(sb->metadata);
	json_decref(sb->env);
	list_free(&sb->names);
	json_decref(sb->wishes);
	hosted_unref(sb->hosted);
	free(sb);
}

void
e2b_free(struct e2b *e)
{
	if (!e)
		return;
	usage_end(e);
	while (e->first) {
		struct sandbox *sb = e->first;

		e->first = sb->next;
		sandbox_free(sb);
	}
	pthread_mutex_destroy(&e->lock);
	free(e);
}

struct sandbox *
sandbox_ref(struct sandbox *sb)
{
	refcount_inc(&sb->refs);
	return sb;
}

void
sandbox_unref(struct sandbox *sb)
{
	if (sb && refcount_dec_and_test(&sb->refs))
		sandbox_free(sb);
}

struct sandbox *
sandbox_new(struct key *key)
{
	struct sandbox *sb = calloc(1, sizeof(*sb));
	char one[HOSTED_ID_SIZE], other[HOSTED_ID_SIZE];
	struct remit_error err;

	if (sb && hosted_make_id(one, &err) == 0 &&
	    hosted_make_id(other, &err) == 0 &&
	    context_add(sb, "main", SANDBOX_HOME, E2B_PYTHON)) {
		snprintf(sb->token, sizeof(sb->token), "%s%s", one, other);
		sb->refs = (struct refcount)REFCOUNT_INIT(1);
		sb->key = key;
		pthread_mutex_init(&sb->metadata_lock, NULL);
		return sb;
	}
	free(sb);
	return NULL;
}

int
sandbox_set_names(struct sandbox *sb, const struct list *names)
{
	own(list) struct list fresh = { 0 };
	char *cwd = strdup(names->items[0]);

	if (!cwd || list_copy(&fresh, names) < 0) {
		free(cwd);
		return -1;
	}
	free(sb->contexts->cwd);
	sb->contexts->cwd = cwd;
	list_free(&sb->names);
	sb->names = fresh;
	fresh = (struct list){ 0 };
	return 0;
}

/* ---- the table ---- */

void
sandbox_add(struct exchange *x, struct sandbox *sb)
{
	struct e2b *e = x->server->e2b;

	pthread_mutex_lock(&e->lock);
	refcount_inc(&sb->refs);
	sb->next = e->first;
	e->first = sb;
	usage_wake(e, x->server->remit);
	pthread_mutex_unlock(&e->lock);
}

static void
sandbox_unlist(struct e2b *e, struct sandbox *sb)
{
	struct sandbox **at;
	bool found;

	pthread_mutex_lock(&e->lock);
	for (at = &e->first; *at && *at != sb; at = &(*at)->next)
		;
	found = *at != NULL;
	if (found)
		*at = sb->next;
	pthread_mutex_unlock(&e->lock);
	if (found)
		sandbox_unref(sb);
}

void
sandbox_end(struct e2b *e, struct sandbox *sb)
{
	struct hosted *r;

	/* A sandbox that is being made may have no hosted session. */
	pthread_mutex_lock(&e->lock);
	r = sb->hosted ? hosted_ref(sb->hosted) : NULL;
	pthread_mutex_unlock(&e->lock);
	if (r)
		hosted_drop(r);
	hosted_unref(r);
	sandbox_unlist(e, sb);
}

bool
sandbox_kill(struct exchange *x, struct sandbox *sb)
{
	struct e2b *e = x->server->e2b;
	bool is_stored;

	pthread_mutex_lock(&e->lock);
	sb->is_killed = true;
	is_stored = sb->is_stored;
	pthread_mutex_unlock(&e->lock);
	sandbox_end(e, sb);
	return is_stored;
}

/* ---- its life ---- */

/* The table of hosted sessions drops a session at the end of its life. A
   sandbox that is to be paused instead has no end there; e2b_pause_ended()
   finds it when its time is over. */

static uint64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
set_end(struct e2b *e, struct sandbox *sb, uint64_t life_ms, bool only_later)
{
	uint64_t ends_us = number_add(loop_now_us(), number_mul(life_ms, 1000));

	pthread_mutex_lock(&e->lock);
	if (!only_later || ends_us > sb->ends_us) {
		sb->ends_us = ends_us;
		sb->ends_ms = number_add(wall_ms(), life_ms);
	}
	pthread_mutex_unlock(&e->lock);
}

void
sandbox_set_life(struct e2b *e, struct sandbox *sb, uint64_t life_ms)
{
	if (sb->pauses_at_end)
		set_end(e, sb, life_ms, false);
	else
		hosted_set_life(sb->hosted, life_ms);
}

void
sandbox_extend_life(struct e2b *e, struct sandbox *sb, uint64_t life_ms)
{
	if (sb->pauses_at_end)
		set_end(e, sb, life_ms, true);
	else
		hosted_extend_life(sb->hosted, life_ms);
}

uint64_t
sandbox_ends_ms(struct e2b *e, struct sandbox *sb)
{
	uint64_t ends_ms;

	if (!sb->pauses_at_end)
		return hosted_get_view(sb->hosted).expires_ms;
	pthread_mutex_lock(&e->lock);
	ends_ms = sb->ends_ms;
	pthread_mutex_unlock(&e->lock);
	return ends_ms;
}

/* Whether the sandbox has expired or was closed with another API. */
static bool
sandbox_is_over(struct exchange *x, const struct sandbox *sb)
{
	struct hosted *r = hosted_find(x->server->hosted_table, sb->key->name,
				       hosted_id(sb->hosted));

	hosted_unref(r);
	return !r;
}

struct sandbox **
sandbox_all(struct exchange *x, size_t *count)
{
	struct e2b *e = x->server->e2b;
	struct sandbox **all;
	size_t n = 0, kept = 0;

	pthread_mutex_lock(&e->lock);
	for (struct sandbox *sb = e->first; sb; sb = sb->next)
		n++;
	all = calloc(n + 1, sizeof(*all));
	for (struct sandbox *sb = e->first; all && sb; sb = sb->next) {
		refcount_inc(&sb->refs);
		all[kept++] = sb;
	}
	pthread_mutex_unlock(&e->lock);
	n = kept;
	for (size_t i = kept = 0; i < n; i++)
		if (sandbox_is_over(x, all[i])) {
			sandbox_unlist(e, all[i]);
			sandbox_unref(all[i]);
		} else {
			all[kept++] = all[i];
		}
	*count = kept;
	return all;
}

static struct sandbox *
sandbox_find(struct exchange *x, const char *id)
{
	struct e2b *e = x->server->e2b;
	struct sandbox *sb;

	pthread_mutex_lock(&e->lock);
	for (sb = e->first; sb && strcmp(sb->id, id) != 0; sb = sb->next)
		;
	if (sb)
		refcount_inc(&sb->refs);
	pthread_mutex_unlock(&e->lock);
	if (!sb || !sandbox_is_over(x, sb))
		return sb;
	sandbox_unlist(e, sb);
	sandbox_unref(sb);
	return NULL;
}

/* ---- the id of a request's sandbox ---- */

unsigned
e2b_parse_host(const char *host, char id[HOSTED_ID_SIZE])
{
	size_t digits = strspn(host, "0123456789");
	const char *from = host + digits + 1;
	size_t len;

	id[0] = '\0';
	if (!digits || digits > 5 || host[digits] != '-')
		return 0;
	len = strcspn(from, ".");
	if (len >= HOSTED_ID_SIZE || from[len] != '.')
		return 0;
	memcpy(id, from, len);
	id[len] = '\0';
	return (unsigned)strtoul(host, NULL, 10);
}

static bool
is_debug_port(const struct exchange *x)
{
	return x->server->e2b->debug &&
	       (x->port == E2B_ENVD_PORT || x->port == E2B_CODE_PORT);
}

static void
wanted_id(const struct exchange *x, char id[HOSTED_ID_SIZE])
{
	struct http_text given = exchange_header(x, "e2b-sandbox-id");

	if (given.len && given.len < HOSTED_ID_SIZE) {
		memcpy(id, given.text, given.len);
		id[given.len] = '\0';
		return;
	}
	e2b_parse_host(x->parsed.host, id);
	if (!id[0] && is_debug_port(x))
		memcpy(id, SANDBOX_DEBUG_ID, sizeof(SANDBOX_DEBUG_ID));
}

/* ---- signed addresses ---- */

/*
 * A request with an address signed by a client of E2B can read or write one
 * file without the token:
 *
 *	signature = "v1_" + base64(SHA-256("path:read:user:token[:expiry]"))
 */

static int
hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Returns the signature in base64 without padding, as clients write it. */
static char *
write_signature(const char *signed_text)
{
	char sum[SHA256_TEXT], bytes[32], *text;

	sha256_text(signed_text, strlen(signed_text), sum);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(hex_digit(sum[2 * i]) << 4 |
				  hex_digit(sum[2 * i + 1]));
	text = base64_encode(bytes, sizeof(bytes));
	if (text)
		text[strcspn(text, "=")] = '\0';
	return text;
}

static bool
signature_is_expired(const struct exchange *x)
{
	const char *expiry = exchange_query(x, "signature_expiration");
	uint64_t at;

	return expiry &&
	       (number_parse(&at, expiry) < 0 || at < (uint64_t)time(NULL));
}

/* Whether this is a request for /files that was signed with this token. The
   signature may have expired. */
static bool
is_signed_with(const struct exchange *x, const char *token)
{
	const char *given = exchange_query(x, "signature");
	const char *path = exchange_query(x, "path");
	const char *user = exchange_query(x, "username");
	const char *expiry = exchange_query(x, "signature_expiration");
	bool writes = !strcmp(x->method, "POST");
	own_mem char *text = NULL, *right = NULL;
	unsigned differs = 0;

	if (!given || strncmp(given, "v1_", 3) != 0 ||
	    strcmp(x->path, "/files") != 0)
		return false;
	/* Colons separate the parts of the signed text, and a path may contain
	   some. If the user could contain one too, the same text could be
	   parsed with another path, or with "write" where "read" was signed. */
	if (user && strchr(user, ':'))
		return false;
	if (asprintf(&text, "%s:%s:%s:%s%s%s", path ? path : "",
		     writes ? "write" : "read", user ? user : "", token,
		     expiry ? ":" : "", expiry ? expiry : "") < 0)
		return false;
	right = write_signature(text);
	if (!right || strlen(right) != strlen(given + 3))
		return false;
	for (size_t i = 0; right[i]; i++)
		differs |= (unsigned char)(right[i] ^ given[3 + i]);
	return !differs;
}

/* Why a request without a valid token is refused, in E2B's words where it has
   some. */
static const char *
refusal_reason(const struct exchange *x, const struct sandbox *sb)
{
	if (!exchange_query(x, "signature"))
		return "the sandbox's token is wrong or missing";
	return sb && is_signed_with(x, sb->token)
		       ? "signature is already expired"
		       : "invalid signature";
}

/* ---- access ---- */

bool
sandbox_has_token(const struct sandbox *sb, struct http_text given)
{
	unsigned differs = 0;

	if (given.len != strlen(sb->token))
		return false;
	for (size_t i = 0; i < given.len; i++)
		differs |= (unsigned char)(given.text[i] ^ sb->token[i]);
	return !differs;
}

static bool
sandbox_may_use(const struct exchange *x, const struct sandbox *sb)
{
	if (x->key)
		return x->key == sb->key;
	return sandbox_has_token(sb, exchange_header(x, "x-access-token")) ||
	       sandbox_has_token(
		       sb, exchange_header(x, "e2b-traffic-access-token")) ||
	       (is_debug_port(x) && !strcmp(sb->id, SANDBOX_DEBUG_ID)) ||
	       (is_signed_with(x, sb->token) && !signature_is_expired(x));
}

/* E2B's proxies send this for a missing sandbox: clients conclude that it was
   killed. */
static void
reply_not_found(struct exchange *x, const char *id)
{
	json_t *doc = json_pack("{s:s, s:i, s:s}", "sandboxId", id, "code", 502,
				"message", "The sandbox was not found");

	reply_json(x, 502, doc);
}

/* Finds the sandbox for a signed URL that does not name one: it is the only one
   with the token that made the signature. */
static void
id_of_signature(struct exchange *x, char id[HOSTED_ID_SIZE])
{
	struct sandbox **all;
	size_t count;

	if (!exchange_query(x, "signature"))
		return;
	all = sandbox_all(x, &count);
	for (size_t i = 0; i < count; i++) {
		if (is_signed_with(x, all[i]->token))
			memcpy(id, all[i]->id, HOSTED_ID_SIZE);
		sandbox_unref(all[i]);
	}
	free(all);
}

struct sandbox *
e2b_find(struct exchange *x)
{
	char id[HOSTED_ID_SIZE];
	struct sandbox *sb;

	wanted_id(x, id);
	if (!id[0])
		id_of_signature(x, id);
	if (!id[0] && exchange_query(x, "signature")) {
		e2b_fail(x, 401, "%s", refusal_reason(x, NULL));
		return NULL;
	}
	if (!id[0]) {
		e2b_fail(x, 400,
			 "the request names no sandbox: neither the header "
			 "E2b-Sandbox-Id nor the host name does");
		return NULL;
	}
	sb = sandbox_find(x, id);
	if (!sb && is_debug_port(x) && !strcmp(id, SANDBOX_DEBUG_ID))
		return e2b_debug_sandbox(x);
	if (sb && sandbox_may_use(x, sb))
		return sb;
	if (sb)
		e2b_fail(x, 401, "%s", refusal_reason(x, sb));
	else
		reply_not_found(x, id);
	sandbox_unref(sb);
	return NULL;
}

struct sandbox *
e2b_find_live(struct exchange *x, const char *id)
{
	struct sandbox *sb = sandbox_find(x, id);

	if (!sb)
		reply_not_found(x, id);
	return sb;
}

bool
e2b_admits(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	/* A request with a key was already counted. */
	bool may = sb && (x->key || keys_spend(sb->key, loop_now_us()));

	if (sb && !x->payer)
		x->payer = sb->key;
	if (sb && !may) {
		reply_header(x, "Retry-After", "1");
		e2b_fail(x, 429, "too many requests with this key");
	}
	x->is_counted |= may;
	sandbox_unref(sb);
	return may;
}

struct sandbox *
e2b_find_named(struct exchange *x)
{
	const char *id = exchange_param(x, "id");
	struct sandbox *sb = sandbox_find(x, id);

	if (sb && sb->key == x->key)
		return sb;
	sandbox_unref(sb);
	e2b_fail(x, 404, "there is no sandbox %.40s", id);
	return NULL;
}

/* ---- contexts ---- */

struct context *
context_find(struct sandbox *sb, const char *id)
{
	struct context *c;

	for (c = sb->contexts; c && strcmp(c->id, id) != 0; c = c->next)
		;
	return c;
}

struct context *
context_add(struct sandbox *sb, const char *id, const char *cwd,
	    enum e2b_language language)
{
	struct context **at, *c = calloc(1, sizeof(*c));
	size_t n = 0;

	for (at = &sb->contexts; *at; at = &(*at)->next)
		n++;
	if (c)
		c->cwd = strdup(cwd);
	if (!c || !c->cwd || n >= SANDBOX_CONTEXTS_MAX) {
		if (c)
			context_free(c);
		return NULL;
	}
	snprintf(c->id, sizeof(c->id), "%s", id);
	c->language = language;
	return *at = c;
}

void
context_remove(struct sandbox *sb, struct context *c)
{
	struct context **at;

	for (at = &sb->contexts; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	context_free(c);
}

/* ---- replies ---- */

void
e2b_fail(struct exchange *x, int status, const char *fmt, ...)
{
	char message[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	reply_json(x, status,
		   json_pack("{s:i, s:o}", "code", status, "message",
			     text_to_json(message, strlen(message))));
}

void
e2b_fail_text(struct exchange *x, int status, const char *message)
{
	e2b_fail(x, status, "%s", message);
}

void
e2b_error(struct exchange *x, const struct remit_error *err)
{
	static const int replies[] = {
		[REMIT_E_INPUT] = 400,	 [REMIT_E_REFUSED] = 400,
		[REMIT_E_BUSY] = 429,	 [REMIT_E_GONE] = 404,
		[REMIT_E_INSTALL] = 400,
	};
	size_t code = err->code;
	int status = code < ARRAY_LEN(replies) ? replies[code] : 0;

	e2b_fail(x, status ? status : 500, "%s%s%s%s%s",
		 err->where[0] ? err->where : "", err->where[0] ? ": " : "",
		 err->message, err->remedy[0] ? ". " : "", err->remedy);
}

int
e2b_line(struct exchange *x, json_t *line)
{
	own_mem char *text =
		line ? json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII |
						JSON_REAL_PRECISION(17))
		     : NULL;
	own_mem char *whole = NULL;

	json_decref(line);
	if (!text || asprintf(&whole, "%s\n", text) < 0)
		return 0; /* no memory: not sent */
	return reply_piece(x, whole, strlen(whole));
}
