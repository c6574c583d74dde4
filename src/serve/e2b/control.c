/*
 * e2b_control: inspects sandboxes, and extends or ends their lives.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "serve/e2b/part.h"

/* Clients use a feature only if this version of E2B's daemon has it: metadata
   of files since 0.6.2, entries in the events of watched directories since
   0.6.3, watching network mounts, which need no option here, since 0.6.4. */
#define ENVD_VERSION "0.6.4"
#define TEMPLATE     "code-interpreter-v1"
#define LIST_MAX     100

/* ---- a sandbox as JSON ---- */

static json_t *
time_json(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char day[32], text[48];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(ms % 1000));
	return json_string(text);
}

json_t *
e2b_made_json(const struct sandbox *sb)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "sandboxID",
			 sb->id, "templateID", TEMPLATE, "alias", TEMPLATE,
			 "clientID", "remit", "envdVersion", ENVD_VERSION,
			 "envdAccessToken", sb->token, "trafficAccessToken",
			 sb->token);
}

static json_t *
info_json(struct sandbox *sb)
{
	struct hosted_view v = hosted_get_view(sb->hosted);
	json_t *doc = e2b_made_json(sb);

	if (!doc)
		return NULL;
	json_object_set_new(doc, "state", json_string("running"));
	json_object_set_new(doc, "startedAt", time_json(v.created_ms));
	json_object_set_new(doc, "endAt", time_json(v.expires_ms));
	json_object_set_new(doc, "cpuCount",
			    json_integer((json_int_t)sb->cpus));
	json_object_set_new(doc, "memoryMB",
			    json_integer((json_int_t)(sb->memory_bytes >> 20)));
	json_object_set_new(doc, "diskSizeMB",
			    json_integer((json_int_t)(sb->disk_bytes >> 20)));
	json_object_set(doc, "metadata", sb->metadata);
	json_object_set_new(doc, "allowInternetAccess",
			    json_boolean(sb->has_network));
	return doc;
}

/* ---- inspecting ---- */

static void
post_connect(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	struct remit_error err;
	uint64_t life_ms = 0;

	if (!sb)
		return;
	if (e2b_parse_life(x->json, &life_ms, &err) < 0) {
		e2b_error(x, &err);
	} else {
		/* It only extends: another client may count on the time that
		   it has set. */
		if (json_is_number(json_object_get(x->json, "timeout")))
			hosted_extend_life(sb->hosted, life_ms);
		reply_json(x, 200, e2b_made_json(sb));
	}
	sandbox_unref(sb);
}

static void
get_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (sb)
		reply_json(x, 200, info_json(sb));
	sandbox_unref(sb);
}

/* Whether the sandbox has all metadata in "a=1&b=2", which is encoded as a
   query inside the query. */
static bool
has_metadata(const struct sandbox *sb, const char *wanted)
{
	while (wanted && *wanted) {
		size_t len = strcspn(wanted, "&");
		const char *is = memchr(wanted, '=', len);
		size_t key_len = is ? (size_t)(is - wanted) : len;
		own_mem char *key = route_decode(wanted, key_len, true);
		own_mem char *value =
			is ? route_decode(is + 1, len - key_len - 1, true)
			   : strdup("");
		const char *has = key ? json_string_value(json_object_get(
						sb->metadata, key))
				      : NULL;

		if (!has || !value || strcmp(has, value) != 0)
			return false;
		wanted += len + (wanted[len] == '&');
	}
	return true;
}

static uint64_t
query_number(const struct exchange *x, const char *name, uint64_t otherwise)
{
	const char *text = exchange_query(x, name);
	uint64_t n;

	return text && number_parse(&n, text) == 0 ? n : otherwise;
}

/* Parses "2026-08-21T10:00:00" with optional fractions of a second, then "Z" or
   an offset ("+02:00"). Returns -1 if it is malformed. */
static int
read_time(const char *text, uint64_t *ms)
{
	struct tm utc = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	double parts = 0;
	char sign = 0;
	int hours = 0, minutes = 0;
	time_t at;

	if (rest && *rest == '.')
		parts = strtod(rest, (char **)&rest);
	if (!rest ||
	    (strcmp(rest, "Z") != 0 &&
	     (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3 ||
	      (sign != '+' && sign != '-' && sign != ' '))))
		return -1;
	at = timegm(&utc) -
	     (sign == '-' ? -1 : 1) * ((time_t)hours * 3600 + minutes * 60);
	*ms = (uint64_t)at * 1000 + (uint64_t)(parts * 1000);
	return 0;
}

/* Which sandboxes a client wants to list. */
struct list_filter {
	const char *metadata;
	uint64_t after_ms;
	bool none; /* only paused ones, or another template */
};

static int
read_filter(const struct exchange *x, struct list_filter *f)
{
	const char *state = exchange_query(x, "state");
	const char *template = exchange_query(x, "template");
	const char *after = exchange_query(x, "startedAfter");

	*f = (struct list_filter){ .metadata = exchange_query(x, "metadata") };
	f->none = (state && !strstr(state, "running")) ||
		  (template && strcmp(template, TEMPLATE) != 0);
	return after ? read_time(after, &f->after_ms) : 0;
}

static bool
matches_filter(const struct exchange *x, struct sandbox *sb,
	       const struct list_filter *f)
{
	return !f->none && sb->key == x->key &&
	       hosted_get_view(sb->hosted).created_ms >= f->after_ms &&
	       has_metadata(sb, f->metadata);
}

static void
get_sandboxes(struct exchange *x)
{
	uint64_t limit = query_number(x, "limit", LIST_MAX);
	uint64_t skip = query_number(x, "nextToken", 0), seen = 0;
	const char *order = exchange_query(x, "order");
	json_t *list = json_array();
	struct sandbox **all;
	struct list_filter filter;
	char token[24];
	size_t count;

	if (read_filter(x, &filter) < 0) {
		json_decref(list);
		e2b_fail(x, 400, "startedAfter: is not a valid time");
		return;
	}
	/* The newest is the first. */
	all = sandbox_all(x, &count);
	for (size_t i = 0; i < count; i++) {
		bool is_last = order && !strcmp(order, "asc");
		struct sandbox *sb = all[is_last ? count - 1 - i : i];

		if (matches_filter(x, sb, &filter) && seen++ >= skip &&
		    json_array_size(list) < limit)
			json_array_append_new(list, info_json(sb));
		sandbox_unref(sb);
	}
	free(all);
	if (skip + json_array_size(list) < seen) {
		snprintf(token, sizeof(token), "%llu",
			 (unsigned long long)skip + json_array_size(list));
		reply_header(x, "x-next-token", token);
	}
	reply_json(x, 200, list);
}

/* Usage between cells is not measured, so the list is empty. */
static void
get_metrics(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (sb)
		reply_json(x, 200, json_array());
	sandbox_unref(sb);
}

/* ---- lifetime ---- */

static void
post_timeout(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	struct remit_error err;
	uint64_t life_ms = 0;

	if (!sb)
		return;
	if (e2b_parse_life(x->json, &life_ms, &err) < 0) {
		e2b_error(x, &err);
	} else {
		hosted_set_life(sb->hosted, life_ms);
		reply_bytes(x, 204, NULL, "", 0);
	}
	sandbox_unref(sb);
}

static void
delete_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (!sb)
		return;
	sandbox_kill(x, sb);
	sandbox_unref(sb);
	reply_bytes(x, 204, NULL, "", 0);
}

static void
refuse_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	const char *what = strrchr(x->path, '/') + 1;

	if (!sb)
		return;
	sandbox_unref(sb);
	if (!strcmp(what, "network"))
		e2b_fail(x, 400,
			 "the network of a sandbox is fixed when it is made "
			 "and cannot be changed: make another");
	else
		e2b_fail(x, 400,
			 "a sandbox cannot be stored here (%s); fork copies a "
			 "live one",
			 what);
}

#define SANDBOX(verb, path, what, has)                                 \
	{                                                              \
		.method = (verb),                                      \
		.pattern = "/sandboxes" path,                          \
		.serve = (what),                                       \
		.body = (has),                                         \
		.fail = e2b_fail_text,                                 \
	},                                                             \
	{                                                              \
		.method = (verb), .pattern = "/v2/sandboxes" path,     \
		.serve = (what), .body = (has), .fail = e2b_fail_text, \
	}

const struct route e2b_control_routes[] = {
	SANDBOX("POST", "", e2b_post_sandbox, BODY_MAYBE),
	SANDBOX("GET", "", get_sandboxes, BODY_NONE),
	SANDBOX("GET", "/{id}", get_sandbox, BODY_NONE),
	SANDBOX("DELETE", "/{id}", delete_sandbox, BODY_MAYBE),
	SANDBOX("POST", "/{id}/connect", post_connect, BODY_MAYBE),
	SANDBOX("POST", "/{id}/timeout", post_timeout, BODY_JSON),
	SANDBOX("POST", "/{id}/fork", e2b_post_fork, BODY_MAYBE),
	SANDBOX("GET", "/{id}/metrics", get_metrics, BODY_NONE),
	SANDBOX("POST", "/{id}/pause", refuse_sandbox, BODY_MAYBE),
	SANDBOX("POST", "/{id}/snapshots", refuse_sandbox, BODY_MAYBE),
	SANDBOX("PUT", "/{id}/network", refuse_sandbox, BODY_MAYBE),
	{ 0 },
};
