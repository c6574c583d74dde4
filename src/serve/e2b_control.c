/*
 * e2b_control: E2B's control plane: sandboxes are made, looked at, kept alive,
 * copied and killed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "e2b_part.h"
#include "e2b_policy.h"
#include "native_part.h"
#include "number.h"
#include "request.h"

/* Clients ask for more of version 0.5.7 on than there is here. */
#define ENVD_VERSION "0.5.6"
#define TEMPLATE     "code-interpreter-v1"
/* Seconds. */
#define LIFE	  300
#define LIFE_MAX  (30 * 86400)
#define LIST_MAX  100
#define FORKS_MAX 8

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

static json_t *
made_json(const struct sandbox *sb)
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
	struct room_view v = room_look(sb->room);
	json_t *doc = made_json(sb);

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

/* ---- what is wished for ---- */

/* Objects of strings, or nothing. */
static int
take_strings(json_t **to, const json_t *body, const char *name,
	     struct remit_error *err)
{
	json_t *given = json_object_get(body, name), *value;
	const char *key;

	*to = json_object();
	if (!*to)
		return fail_sys(err, REMIT_E_MEMORY, "%s", name);
	if (!given || json_is_null(given))
		return 0;
	if (!json_is_object(given) || json_object_size(given) > 256)
		return fail(err, REMIT_E_INPUT,
			    "%s: must be an object of at most 256 strings",
			    name);
	json_object_foreach(given, key, value)
	{
		if (!json_is_string(value) || !*key || strchr(key, '='))
			return fail(err, REMIT_E_INPUT,
				    "%s.%.40s: must be a string", name, key);
	}
	return json_object_update(*to, given) < 0
		       ? fail_sys(err, REMIT_E_MEMORY, "%s", name)
		       : 0;
}

static int
take_life(const json_t *body, uint64_t *life_ms, struct remit_error *err)
{
	const json_t *value = json_object_get(body, "timeout");
	double seconds = json_number_value(value);

	if (!value || json_is_null(value)) {
		*life_ms = LIFE * UINT64_C(1000);
		return 0;
	}
	if (!json_is_number(value) || seconds < 0 || seconds > LIFE_MAX)
		return fail(err, REMIT_E_INPUT,
			    "timeout: must be a number of seconds up to %d",
			    LIFE_MAX);
	/* 0 would be without end. */
	*life_ms = seconds < 0.001 ? 1 : (uint64_t)(seconds * 1000);
	return 0;
}

/* What shares something with others has no copies: then it is not asked for
   them. */
static bool
can_fork(const struct policy *p)
{
	return !p->subprocess_execution && p->network_access == NETWORK_NONE &&
	       !p->network_allow.count && !p->mounts.count &&
	       !p->filesystem_write_roots.count && p->tier == TIER_LOCAL;
}

static void
note_policy(struct sandbox *sb, const struct policy *p)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	sb->cpus = p->cpus && p->cpus != POLICY_UNLIMITED
			   ? p->cpus
			   : (uint64_t)(online > 0 ? online : 1);
	sb->memory_bytes = p->memory_bytes;
	sb->disk_bytes = p->disk_bytes;
	sb->may_start_programs = p->subprocess_execution;
	sb->has_network =
		p->network_access != NETWORK_NONE || p->network_allow.count;
}

/* How its room is to be opened; the policy's text is the caller's. */
static int
plan(struct sandbox *sb, const json_t *body, struct room_options *opt,
     char **text, struct remit_error *err)
{
	own(policy) struct policy policy = { 0 };
	struct key *key = sb->key;
	json_auto_t *doc = e2b_policy(
		body, key->policy.network_access != NETWORK_NONE, err);

	if (!doc ||
	    request_policy(json_object_size(doc) ? doc : NULL, key, &policy,
			   text, err) < 0 ||
	    take_life(body, &opt->life_ms, err) < 0 ||
	    take_strings(&sb->metadata, body, "metadata", err) < 0 ||
	    take_strings(&sb->env, body, "envVars", err) < 0)
		return -1;
	note_policy(sb, &policy);
	opt->owner = key->name;
	opt->forkable = can_fork(&policy);
	opt->memory_bytes = policy.memory_bytes;
	return 0;
}

/* ---- making one ---- */

struct making {
	struct exchange *x;
	struct sandbox *sb;
	struct room_options opt;
	char *policy_text;
};

static void
making_free(void *making)
{
	struct making *m = making;

	sandbox_put(m->x, m->sb);
	free(m->policy_text);
	free(m);
}

static void on_made(void *user, struct remit_result *res,
		    const struct remit_error *err);
static const struct room_events made_events = { .result = on_made };

static int
open_room(struct making *m, const struct room_events *ev, void *user,
	  struct remit_error *err)
{
	own_mem char *text = strdup(m->policy_text);

	if (!text)
		return fail_sys(err, REMIT_E_MEMORY, "policy");
	m->opt.policy_json = text;
	m->opt.loan = (struct room_loan){ free, text };
	if (room_open(m->x->server->rooms, &m->opt, ev, user, &m->sb->room,
		      err) < 0)
		return -1;
	take_ptr(&text);
	return 0;
}

static void
on_gone(void *user)
{
	struct making *m = user;

	sandbox_kill(m->x, m->sb);
}

static void
leave_room(struct making *m)
{
	struct e2b *e = m->x->server->e2b;
	struct room *r;

	pthread_mutex_lock(&e->lock);
	r = take_ptr(&m->sb->room);
	pthread_mutex_unlock(&e->lock);
	room_put(r);
}

static void
on_made(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct making *m = user;
	struct remit_error again;

	(void)res;
	/* A host where nothing can be copied has sandboxes all the same. */
	if (err && m->opt.forkable && !strcmp(err->where, "forkable")) {
		m->opt.forkable = false;
		leave_room(m);
		if (open_room(m, &made_events, m, &again) == 0)
			return;
		err = &again;
	}
	if (err) {
		e2b_error(m->x, err);
	} else {
		snprintf(m->sb->id, sizeof(m->sb->id), "%s",
			 room_id(m->sb->room));
		sandbox_list(m->x, m->sb);
		reply_json(m->x, 201, made_json(m->sb));
	}
	exchange_put(m->x);
}

/* NULL: no memory. */
static struct making *
making_new(struct exchange *x, struct key *key)
{
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->x = x;
	m->sb = sandbox_new(key);
	if (m->sb)
		return m;
	free(m);
	return NULL;
}

static void
post_sandbox(struct exchange *x)
{
	struct making *m = making_new(x, x->key);
	struct remit_error err;

	if (!m) {
		e2b_fail(x, 500, "no memory");
		return;
	}
	exchange_own(x, m, making_free);
	if (plan(m->sb, x->json, &m->opt, &m->policy_text, &err) < 0 ||
	    native_check_limits(x, m->opt.memory_bytes, &err) < 0) {
		e2b_error(x, &err);
		return;
	}
	exchange_hold(x);
	if (open_room(m, &made_events, m, &err) < 0) {
		on_made(m, NULL, &err);
		return;
	}
	exchange_on_gone(x, on_gone, m);
}

static void
on_nothing(void *user, struct remit_result *res, const struct remit_error *err)
{
	/* What waits for a room that could not be opened fails by itself. */
	(void)user;
	(void)res;
	(void)err;
}

struct sandbox *
e2b_debug_sandbox(struct exchange *x)
{
	static const struct room_events nothing = { .result = on_nothing };
	struct making *m = making_new(x, &x->server->keys->all[0]);
	json_auto_t *body = json_pack("{s:i}", "timeout", LIFE_MAX);
	struct sandbox *sb = NULL;
	struct remit_error err;

	if (!m) {
		e2b_fail(x, 500, "no memory");
		return NULL;
	}
	snprintf(m->sb->id, sizeof(m->sb->id), SANDBOX_DEBUG_ID);
	if (plan(m->sb, body, &m->opt, &m->policy_text, &err) < 0 ||
	    open_room(m, &nothing, NULL, &err) < 0) {
		e2b_error(x, &err);
	} else {
		sandbox_list(x, m->sb);
		sb = sandbox_hold(x, m->sb);
	}
	making_free(m);
	return sb;
}

/* ---- looking ---- */

static void
post_connect(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	struct remit_error err;
	uint64_t life_ms;

	if (!sb)
		return;
	if (take_life(x->json, &life_ms, &err) < 0) {
		e2b_error(x, &err);
	} else {
		if (json_is_number(json_object_get(x->json, "timeout")))
			room_set_life(sb->room, life_ms);
		reply_json(x, 200, made_json(sb));
	}
	sandbox_put(x, sb);
}

static void
get_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (sb)
		reply_json(x, 200, info_json(sb));
	sandbox_put(x, sb);
}

/* "a=1&b=2" in a query of its own: whether the sandbox has all of it. */
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

static void
get_sandboxes(struct exchange *x)
{
	uint64_t limit = query_number(x, "limit", LIST_MAX);
	uint64_t skip = query_number(x, "nextToken", 0), seen = 0;
	const char *state = exchange_query(x, "state");
	bool wanted = !state || strstr(state, "running");
	json_t *list = json_array();
	struct sandbox **all;
	char token[24];
	size_t count;

	all = sandbox_all(x, &count);
	for (size_t i = 0; i < count; i++) {
		struct sandbox *sb = all[i];
		bool is_meant = wanted && sb->key == x->key &&
				has_metadata(sb, exchange_query(x, "metadata"));

		if (is_meant && seen++ >= skip && json_array_size(list) < limit)
			json_array_append_new(list, info_json(sb));
		sandbox_put(x, sb);
	}
	free(all);
	if (skip + json_array_size(list) < seen) {
		snprintf(token, sizeof(token), "%llu",
			 (unsigned long long)skip + json_array_size(list));
		reply_header(x, "x-next-token", token);
	}
	reply_json(x, 200, list);
}

/* Nothing is measured between cells, and a guess is no measurement. */
static void
get_metrics(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (sb)
		reply_json(x, 200, json_array());
	sandbox_put(x, sb);
}

/* ---- its life ---- */

static void
post_timeout(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	struct remit_error err;
	uint64_t life_ms;

	if (!sb)
		return;
	if (take_life(x->json, &life_ms, &err) < 0) {
		e2b_error(x, &err);
	} else {
		room_set_life(sb->room, life_ms);
		reply_bytes(x, 204, NULL, "", 0);
	}
	sandbox_put(x, sb);
}

static void
delete_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);

	if (!sb)
		return;
	sandbox_kill(x, sb);
	sandbox_put(x, sb);
	reply_bytes(x, 204, NULL, "", 0);
}

static void
refuse_sandbox(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	const char *what = strrchr(x->path, '/') + 1;

	if (!sb)
		return;
	sandbox_put(x, sb);
	if (!strcmp(what, "network"))
		e2b_fail(x, 400,
			 "the network of a sandbox is decided when it is made, "
			 "and not changed: make another");
	else
		e2b_fail(x, 400,
			 "a sandbox cannot be stored here (%s); copies of a "
			 "live one can be had with fork",
			 what);
}

/* ---- copies ---- */

struct forking {
	struct exchange *x;
	struct sandbox *sb;
	struct room *branch;
	uint64_t left;
	json_t *made;
	uint64_t life_ms;
};

static void
forking_free(void *forking)
{
	struct forking *f = forking;

	sandbox_put(f->x, f->sb);
	json_decref(f->made);
	free(f);
}

static struct sandbox *
copy_sandbox(struct forking *f)
{
	struct sandbox *to = sandbox_new(f->sb->key), *from = f->sb;
	struct e2b *e = f->x->server->e2b;

	if (!to)
		return NULL;
	to->metadata = json_incref(from->metadata);
	to->env = json_incref(from->env);
	to->cpus = from->cpus;
	to->memory_bytes = from->memory_bytes;
	to->disk_bytes = from->disk_bytes;
	pthread_mutex_lock(&e->lock);
	for (struct context *c = from->contexts->next; c; c = c->next)
		context_add(to, c->id, c->cwd);
	pthread_mutex_unlock(&e->lock);
	snprintf(to->id, sizeof(to->id), "%s", room_id(f->branch));
	to->room = take_ptr(&f->branch);
	return to;
}

static void on_forked(void *user, struct remit_result *res,
		      const struct remit_error *err);

static void
fork_more(struct forking *f)
{
	static const struct room_events events = { .result = on_forked };
	struct remit_error err;

	if (!f->left) {
		reply_json(f->x, 201, json_incref(f->made));
		exchange_put(f->x);
	} else if (room_fork(f->sb->room, &events, f, &f->branch, &err) < 0) {
		on_forked(f, NULL, &err);
	}
}

static void
on_forked(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct forking *f = user;
	struct sandbox *copy = err ? NULL : copy_sandbox(f);

	(void)res;
	f->left--;
	if (copy) {
		room_set_life(copy->room, f->life_ms);
		sandbox_list(f->x, copy);
		json_array_append_new(f->made, json_pack("{s:o}", "sandbox",
							 made_json(copy)));
		sandbox_put(f->x, copy);
	} else {
		json_array_append_new(
			f->made,
			json_pack("{s:{s:i, s:s}}", "error", "code", 400,
				  "message", err ? err->message : "no memory"));
		room_put(take_ptr(&f->branch));
	}
	fork_more(f);
}

static void
post_fork(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	const json_t *count = json_object_get(x->json, "count");
	struct forking *f = sb ? calloc(1, sizeof(*f)) : NULL;
	struct remit_error err;

	if (!f) {
		sandbox_put(x, sb);
		if (sb)
			e2b_fail(x, 500, "no memory");
		return;
	}
	*f = (struct forking){ .x = x, .sb = sb, .made = json_array() };
	exchange_own(x, f, forking_free);
	f->left = json_is_integer(count) ? (uint64_t)json_integer_value(count)
					 : 1;
	if (f->left < 1 || f->left > FORKS_MAX) {
		e2b_fail(x, 400, "count: from 1 to %d", FORKS_MAX);
		return;
	}
	if (take_life(x->json, &f->life_ms, &err) < 0 ||
	    native_check_limits(x, f->left * sb->memory_bytes, &err) < 0) {
		e2b_error(x, &err);
		return;
	}
	exchange_hold(x);
	fork_more(f);
}

#define SANDBOX(verb, path, what, has)                           \
	{                                                        \
		.method = verb,                                  \
		.pattern = "/sandboxes" path,                    \
		.serve = what,                                   \
		.body = has,                                     \
	},                                                       \
	{                                                        \
		.method = verb, .pattern = "/v2/sandboxes" path, \
		.serve = what, .body = has,                      \
	}

const struct route e2b_control_routes[] = {
	SANDBOX("POST", "", post_sandbox, BODY_MAYBE),
	SANDBOX("GET", "", get_sandboxes, BODY_NONE),
	SANDBOX("GET", "/{id}", get_sandbox, BODY_NONE),
	SANDBOX("DELETE", "/{id}", delete_sandbox, BODY_MAYBE),
	SANDBOX("POST", "/{id}/connect", post_connect, BODY_MAYBE),
	SANDBOX("POST", "/{id}/timeout", post_timeout, BODY_JSON),
	SANDBOX("POST", "/{id}/fork", post_fork, BODY_MAYBE),
	SANDBOX("GET", "/{id}/metrics", get_metrics, BODY_NONE),
	SANDBOX("POST", "/{id}/pause", refuse_sandbox, BODY_MAYBE),
	SANDBOX("POST", "/{id}/snapshots", refuse_sandbox, BODY_MAYBE),
	SANDBOX("PUT", "/{id}/network", refuse_sandbox, BODY_MAYBE),
	{ 0 },
};
