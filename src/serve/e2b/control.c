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

json_t *
e2b_time_json(uint64_t ms)
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
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "sandboxID", sb->id,
		"templateID", sb->template[0] ? sb->template : TEMPLATE,
		"alias", sb->template[0] ? sb->template : TEMPLATE, "clientID",
		"remit", "envdVersion", ENVD_VERSION, "envdAccessToken",
		sb->token, "trafficAccessToken", sb->token);
}

/* What is allowed now, as the client has written it. "rules" may have
   secrets. */
static void
add_network(json_t *doc, struct e2b *e, struct sandbox *sb)
{
	static const char *const shown[] = { "allowOut", "denyOut" };
	json_t *network = json_object();
	json_t *wish;

	pthread_mutex_lock(&e->lock);
	json_object_set_new(doc, "allowInternetAccess",
			    json_boolean(sb->has_network));
	wish = json_object_get(sb->wishes, "network");
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		if (json_is_array(json_object_get(wish, shown[i])))
			json_object_set(network, shown[i],
					json_object_get(wish, shown[i]));
	pthread_mutex_unlock(&e->lock);
	if (json_object_size(network))
		json_object_set_new(doc, "network", network);
	else
		json_decref(network);
}

static json_t *
info_json(struct e2b *e, struct sandbox *sb)
{
	struct hosted_view v = hosted_get_view(sb->hosted);
	json_t *doc = e2b_made_json(sb);

	if (!doc)
		return NULL;
	json_object_set_new(doc, "state", json_string("running"));
	json_object_set_new(doc, "startedAt", e2b_time_json(v.created_ms));
	json_object_set_new(doc, "endAt",
			    e2b_time_json(sandbox_ends_ms(e, sb)));
	json_object_set_new(doc, "cpuCount",
			    json_integer((json_int_t)sb->cpus));
	json_object_set_new(doc, "memoryMB",
			    json_integer((json_int_t)(sb->memory_bytes >> 20)));
	json_object_set_new(doc, "diskSizeMB",
			    json_integer((json_int_t)(sb->disk_bytes >> 20)));
	json_object_set(doc, "metadata", sb->metadata);
	add_network(doc, e, sb);
	json_object_set_new(doc, "lifecycle",
			    json_pack("{s:s, s:b}", "onTimeout",
				      sb->pauses_at_end ? "pause" : "kill",
				      "autoResume", 0));
	return doc;
}

/* ---- inspecting ---- */

static void
connect_live(struct exchange *x, struct sandbox *sb)
{
	struct remit_error err;
	uint64_t life_ms = 0;

	if (e2b_parse_life(x->json, &life_ms, &err) < 0) {
		e2b_error(x, &err);
		return;
	}
	/* Extend the life but never shorten it: another client may rely on the
	   time that it has set. */
	if (json_is_number(json_object_get(x->json, "timeout")))
		sandbox_extend_life(x->server->e2b, sb, life_ms);
	reply_json(x, 200, e2b_made_json(sb));
}

static bool
is_pausing(struct exchange *x, const struct sandbox *sb)
{
	struct e2b *e = x->server->e2b;
	bool is;

	pthread_mutex_lock(&e->lock);
	is = sb->is_pausing;
	pthread_mutex_unlock(&e->lock);
	return is;
}

static void
post_connect(struct exchange *x)
{
	struct snapshot_info paused;
	struct sandbox *sb;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused)) {
		e2b_resume(x, &paused);
		return;
	}
	sb = e2b_find_named(x);
	if (sb && is_pausing(x, sb))
		e2b_fail(x, 409,
			 "the sandbox is being paused: connect again when it "
			 "is");
	else if (sb)
		connect_live(x, sb);
	sandbox_unref(sb);
}

static void
reply_sandbox(struct exchange *x)
{
	struct snapshot_info paused;
	struct sandbox *sb;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused)) {
		reply_json(x, 200,
			   e2b_paused_json(x->server, x->owner, &paused));
		return;
	}
	sb = e2b_find_named(x);
	if (sb)
		reply_json(x, 200, info_json(x->server->e2b, sb));
	sandbox_unref(sb);
}

/* The description of a paused sandbox is read from disk, like those in a
   list. */
static void
get_sandbox(struct exchange *x)
{
	struct snapshot_info paused;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused))
		exchange_in_turn(x, reply_sandbox);
	else
		reply_sandbox(x);
}

/* Whether the sandbox has all metadata in "a=1&b=2", which is encoded as a
   query inside the query. */
static bool
has_metadata(const json_t *metadata, const char *wanted)
{
	while (wanted && *wanted) {
		size_t len = strcspn(wanted, "&");
		const char *is = memchr(wanted, '=', len);
		size_t key_len = is ? (size_t)(is - wanted) : len;
		own_mem char *key = route_decode(wanted, key_len, true);
		own_mem char *value =
			is ? route_decode(is + 1, len - key_len - 1, true)
			   : strdup("");
		const char *has =
			key ? json_string_value(json_object_get(metadata, key))
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
	const char *metadata, *template;
	uint64_t after_ms;
	bool running, paused;
};

static int
read_filter(const struct exchange *x, struct list_filter *f)
{
	const char *state = exchange_query(x, "state");
	const char *after = exchange_query(x, "startedAfter");

	*f = (struct list_filter){
		.metadata = exchange_query(x, "metadata"),
		.template = exchange_query(x, "template"),
		.running = !state || strstr(state, "running"),
		.paused = !state || strstr(state, "paused"),
	};
	return after ? read_time(after, &f->after_ms) : 0;
}

/* A sandbox in a list, live or paused. */
struct listed {
	json_t *info;
	uint64_t started_ms;
	size_t place; /* decides between equal times */
};

static bool
matches_filter(const struct list_filter *f, const struct listed *l)
{
	const char *template =
		json_string_value(json_object_get(l->info, "templateID"));

	return l->started_ms >= f->after_ms &&
	       (!f->template || (template && !strcmp(template, f->template))) &&
	       has_metadata(json_object_get(l->info, "metadata"), f->metadata);
}

/* Takes ownership of `info`, which may be NULL. */
static void
list_one(struct listed *list, size_t *count, const struct list_filter *f,
	 json_t *info, uint64_t started_ms)
{
	struct listed one = { info, started_ms, *count };

	if (info && matches_filter(f, &one))
		list[(*count)++] = one;
	else
		json_decref(info);
}

/* Paused sandboxes keep the time at which they started. */
static uint64_t
start_of(const json_t *info, uint64_t otherwise)
{
	const char *text =
		json_string_value(json_object_get(info, "startedAt"));
	uint64_t ms;

	return text && read_time(text, &ms) == 0 ? ms : otherwise;
}

static int
newest_first(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->started_ms != y->started_ms)
		return x->started_ms < y->started_ms ? 1 : -1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Returns the key's sandboxes, newest first, or NULL if memory is exhausted. */
static struct listed *
list_sandboxes(struct exchange *x, const struct list_filter *f, size_t *count)
{
	struct snapshot_store *store = x->server->snapshots;
	struct snapshot_info *paused = NULL;
	size_t live_count, paused_count = 0;
	struct sandbox **live = sandbox_all(x, &live_count);
	struct listed *list;

	if (store && f->paused &&
	    snapshot_store_list(store, x->owner, SNAPSHOT_PAUSED, &paused,
				&paused_count) < 0)
		paused_count = 0;
	list = calloc(live_count + paused_count + 1, sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < live_count; i++) {
		if (list && f->running && live[i]->key == x->key)
			list_one(list, count, f,
				 info_json(x->server->e2b, live[i]),
				 hosted_get_view(live[i]->hosted).created_ms);
		sandbox_unref(live[i]);
	}
	for (size_t i = 0; list && i < paused_count; i++) {
		json_t *info = e2b_paused_json(x->server, x->owner, &paused[i]);

		list_one(list, count, f, info,
			 start_of(info, paused[i].created_ms));
	}
	free(live);
	free(paused);
	if (list)
		qsort(list, *count, sizeof(*list), newest_first);
	return list;
}

static void
reply_list(struct exchange *x)
{
	uint64_t limit = query_number(x, "limit", LIST_MAX);
	uint64_t skip = query_number(x, "nextToken", 0);
	const char *order = exchange_query(x, "order");
	bool is_reversed = order && !strcmp(order, "asc");
	json_t *page = json_array();
	struct list_filter filter;
	struct listed *list = NULL;
	size_t count = 0;
	char token[24];

	if (read_filter(x, &filter) < 0) {
		json_decref(page);
		e2b_fail(x, 400, "startedAfter: is not a valid time");
		return;
	}
	list = list_sandboxes(x, &filter, &count);
	for (size_t i = 0; list && i < count; i++) {
		struct listed *one = &list[is_reversed ? count - 1 - i : i];

		if (i >= skip && json_array_size(page) < limit)
			json_array_append(page, one->info);
	}
	for (size_t i = 0; list && i < count; i++)
		json_decref(list[i].info);
	free(list);
	if (skip + json_array_size(page) < count) {
		snprintf(token, sizeof(token), "%llu",
			 (unsigned long long)skip + json_array_size(page));
		reply_header(x, "x-next-token", token);
	}
	reply_json(x, 200, page);
}

/* Descriptions of paused sandboxes are read from disk, and those of live ones
   may be long: the HTTP thread, which all keys share, must not do that. */
static void
get_sandboxes(struct exchange *x)
{
	exchange_in_turn(x, reply_list);
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
		sandbox_set_life(x->server->e2b, sb, life_ms);
		reply_bytes(x, 204, NULL, "", 0);
	}
	sandbox_unref(sb);
}

static void
delete_sandbox(struct exchange *x)
{
	struct snapshot_info paused;
	struct sandbox *sb;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused)) {
		exchange_in_thread(x, e2b_delete_paused);
		return;
	}
	sb = e2b_find_named(x);
	if (!sb)
		return;
	if (sandbox_kill(x, sb))
		exchange_in_thread(x, e2b_delete_paused);
	else
		reply_bytes(x, 204, NULL, "", 0);
	sandbox_unref(sb);
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
	SANDBOX("POST", "/{id}/resume", post_connect, BODY_MAYBE),
	SANDBOX("POST", "/{id}/timeout", post_timeout, BODY_JSON),
	SANDBOX("POST", "/{id}/fork", e2b_post_fork, BODY_MAYBE),
	SANDBOX("GET", "/{id}/metrics", e2b_get_usage, BODY_NONE),
	SANDBOX("POST", "/{id}/pause", e2b_post_pause, BODY_MAYBE),
	SANDBOX("POST", "/{id}/snapshots", e2b_post_snapshot, BODY_MAYBE),
	SANDBOX("PUT", "/{id}/network", e2b_put_network, BODY_MAYBE),
	{
		.method = "GET",
		.pattern = "/snapshots",
		.serve = e2b_get_snapshots,
		.fail = e2b_fail_text,
	},
	{
		.method = "DELETE",
		.pattern = "/templates/{id}",
		.serve = e2b_delete_template,
		.body = BODY_MAYBE,
		.fail = e2b_fail_text,
	},
	{ 0 },
};
