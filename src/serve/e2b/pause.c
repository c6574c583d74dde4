/*
 * e2b_pause: stores the files of sandboxes: a paused sandbox ends and is made
 * again when a client connects to it; a snapshot is a template for others.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/loop.h"
#include "base/text.h"
#include "hosted/snapshot/copy.h"
#include "policy/fields/field.h"
#include "serve/e2b/part.h"
#include "serve/e2b/policy.h"

/* When a sandbox's time is over it must be stored within this time; otherwise
   it ends like other sandboxes. */
#define GRACE_MS (120 * UINT64_C(1000))

struct pausing {
	struct exchange *x; /* NULL: the sandbox's time is over */
	struct server *server;
	struct sandbox *sb;
	struct snapshot_info info;
	json_t *skipped; /* some of the files that were not stored */
};

static void
pausing_free(void *pausing)
{
	struct pausing *p = pausing;

	sandbox_unref(p->sb);
	json_decref(p->skipped);
	free(p);
}

/* ---- what may be stored ---- */

int
e2b_check_storing(const struct server *s, const json_t *body, const char *name,
		  struct remit_error *err)
{
	const json_t *memory = json_object_get(body, name);

	if (memory && !json_is_null(memory) && !json_is_boolean(memory))
		return fail(err, REMIT_E_INPUT, "%s: must be a boolean", name);
	if (!s->snapshots)
		return fail_refused(err, name,
				    "Start the server with --state DIR.",
				    "this server has no directory in which "
				    "sandboxes could be stored");
	if (!json_is_false(memory) && !s->stores_files_only)
		return fail_refused(
			err, name,
			"Pass keep_memory=False (keepMemory: false; for "
			"snapshots mode=\"filesystem\") to store the files "
			"only, or start the server with --pause-files-only.",
			"the memory of a sandbox cannot be stored in the tiers "
			"of this server, and the request wants it kept");
	return 0;
}

static int
check_sandbox(const struct sandbox *sb, struct remit_error *err)
{
	if (!strcmp(sb->id, SANDBOX_DEBUG_ID))
		return fail_refused(err, "", "",
				    "the sandbox of debug mode cannot be "
				    "stored");
	if (sb->has_secrets)
		return fail_refused(err, "network.rules", "",
				    "a sandbox with headers cannot be stored: "
				    "their secret values would be on disk");
	return 0;
}

/* Letters, digits and "._-/:", so that a name is readable everywhere. */
static int
read_name(struct pausing *p, const json_t *body, struct remit_error *err)
{
	const json_t *given = json_object_get(body, "name");
	const char *name = e2b_request_text(body, "name");
	size_t len = name ? strlen(name) : 0;

	if (!given || json_is_null(given))
		return 0;
	if (!len || len >= SNAPSHOT_NAME_SIZE ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:") != len)
		return fail(err, REMIT_E_INPUT,
			    "name: must have 1 to %d letters, digits or any of "
			    "._-/:",
			    SNAPSHOT_NAME_SIZE - 1);
	if (e2b_is_template(name))
		return fail(err, REMIT_E_INPUT,
			    "name: %s is a template of the server", name);
	memcpy(p->info.name, name, len + 1);
	return 0;
}

/* ---- storing ---- */

/* The time that a sandbox has left, in seconds. */
static double
left_seconds(struct pausing *p)
{
	uint64_t ends_ms = sandbox_ends_ms(p->server->e2b, p->sb), now_ms;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	return ends_ms > now_ms ? (double)(ends_ms - now_ms) / 1000 : 1;
}

static json_t *
skipped_json(const struct list *skipped)
{
	json_t *list = json_array();

	for (size_t i = 0; i < skipped->count; i++)
		json_array_append_new(list,
				      text_to_json(skipped->items[i],
						   strlen(skipped->items[i])));
	return list;
}

/* Returns the text that is stored with the files, or NULL if memory is
   exhausted. */
static char *
about_text(struct pausing *p)
{
	const struct sandbox *sb = p->sb;
	json_auto_t *info = e2b_made_json(sb), *about = NULL;

	/* Lists do not contain the token. */
	json_object_del(info, "envdAccessToken");
	json_object_del(info, "trafficAccessToken");
	about = json_pack("{s:O, s:s, s:f, s:O}", "wishes", sb->wishes,
			  "template", sb->template, "left", left_seconds(p),
			  "info", info);
	if (!about)
		return NULL;
	if (p->info.kind == SNAPSHOT_PAUSED)
		json_object_set_new(about, "token", json_string(sb->token));
	json_object_set_new(
		info, "startedAt",
		e2b_time_json(hosted_get_view(sb->hosted).created_ms));
	json_object_set_new(info, "cpuCount",
			    json_integer((json_int_t)sb->cpus));
	json_object_set_new(info, "memoryMB",
			    json_integer((json_int_t)(sb->memory_bytes >> 20)));
	json_object_set_new(info, "diskSizeMB",
			    json_integer((json_int_t)(sb->disk_bytes >> 20)));
	json_object_set(info, "metadata", sb->metadata);
	json_object_set_new(info, "allowInternetAccess",
			    json_boolean(sb->has_network));
	json_object_set_new(info, "lifecycle",
			    json_pack("{s:s, s:b}", "onTimeout",
				      sb->pauses_at_end ? "pause" : "kill",
				      "autoResume", 0));
	json_object_set(info, "skippedFiles", p->skipped);
	return json_dumps(about, JSON_COMPACT);
}

static int
store_files(struct pausing *p, struct remit_session *session,
	    struct snapshot_writer *w, struct remit_error *err)
{
	uint64_t most = p->sb->disk_bytes == POLICY_UNLIMITED
				? UINT64_MAX
				: p->sb->disk_bytes;
	own_mem char *about = NULL;

	if (snapshot_capture(session, w, most, err) < 0)
		return -1;
	p->skipped = skipped_json(snapshot_skipped(w));
	about = about_text(p);
	if (!about)
		return fail_memory(err, "sandbox");
	return snapshot_commit(w, &p->info, about, err);
}

static int
pausing_visit(void *user, struct remit_session *session,
	      struct remit_error *err)
{
	struct pausing *p = user;
	struct snapshot_writer *w;
	int failed;

	if (snapshot_writer_open(&w, p->server->snapshots, p->sb->key->name,
				 err) < 0)
		return -1;
	failed = store_files(p, session, w, err);
	snapshot_writer_free(w);
	return failed;
}

/* ---- pausing ---- */

/* Returns false if the sandbox is being paused already. */
static bool
begin_pausing(struct e2b *e, struct sandbox *sb)
{
	bool may;

	pthread_mutex_lock(&e->lock);
	may = !sb->is_pausing;
	sb->is_pausing = true;
	pthread_mutex_unlock(&e->lock);
	return may;
}

static void
end_pausing(struct e2b *e, struct sandbox *sb)
{
	pthread_mutex_lock(&e->lock);
	sb->is_pausing = false;
	pthread_mutex_unlock(&e->lock);
}

/* Replies 507 if the store is full, as for metadata of files: clients would
   repeat a request that gets 429. */
static void
fail_storing(struct exchange *x, const struct remit_error *err)
{
	if (err->code == REMIT_E_BUSY)
		e2b_fail(x, 507, "%s", err->message);
	else
		e2b_error(x, err);
}

/* Removes the files of a sandbox that was deleted while they were stored.
   Returns whether it was. */
static bool
remove_if_killed(struct pausing *p)
{
	struct e2b *e = p->server->e2b;
	bool is_killed;

	pthread_mutex_lock(&e->lock);
	p->sb->is_stored = true;
	is_killed = p->sb->is_killed;
	pthread_mutex_unlock(&e->lock);
	if (is_killed)
		snapshot_store_remove(p->server->snapshots, p->sb->key->name,
				      p->sb->id);
	return is_killed;
}

static void
pausing_on_done(void *user, struct remit_result *res,
		const struct remit_error *err)
{
	struct pausing *p = user;
	struct e2b *e = p->server->e2b;
	struct exchange *x = p->x;

	bool is_killed = !err && remove_if_killed(p);

	(void)res;
	/* A sandbox whose time is over ends even if it could not be stored. */
	if (!err || !x)
		sandbox_end(e, p->sb);
	else
		end_pausing(e, p->sb);
	if (!x) {
		pausing_free(p);
		return;
	}
	if (err)
		fail_storing(x, err);
	else if (is_killed)
		e2b_fail(x, 404, "the sandbox was deleted");
	else
		reply_bytes(x, 204, NULL, "", 0);
	exchange_unref(x);
}

/* Interrupts the running cell, then stores the files. */
static int
pausing_begin(struct pausing *p, struct remit_error *err)
{
	static const struct hosted_events events = {
		.visit = pausing_visit,
		.result = pausing_on_done,
	};
	struct sandbox *sb = p->sb;

	p->info.kind = SNAPSHOT_PAUSED;
	memcpy(p->info.id, sb->id, sizeof(p->info.id));
	memcpy(p->info.source, sb->id, sizeof(p->info.source));
	return hosted_visit(sb->hosted, true, &events, p, err);
}

/* Returns NULL after it has sent an error. */
static struct pausing *
pausing_new(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	struct pausing *p = sb ? calloc(1, sizeof(*p)) : NULL;
	struct remit_error err;

	if (!p) {
		sandbox_unref(sb);
		if (sb)
			e2b_fail(x, 500, "no memory");
		return NULL;
	}
	*p = (struct pausing){ .x = x, .server = x->server, .sb = sb };
	exchange_own(x, p, pausing_free);
	if (e2b_check_storing(x->server, x->json, "memory", &err) == 0 &&
	    check_sandbox(sb, &err) == 0)
		return p;
	e2b_error(x, &err);
	return NULL;
}

void
e2b_post_pause(struct exchange *x)
{
	struct snapshot_info paused;
	struct remit_error err;
	struct pausing *p;

	if (e2b_find_stored(x, SNAPSHOT_PAUSED, exchange_param(x, "id"),
			    &paused)) {
		e2b_fail(x, 409, "the sandbox is paused already");
		return;
	}
	p = pausing_new(x);
	if (!p)
		return;
	if (!begin_pausing(x->server->e2b, p->sb)) {
		e2b_fail(x, 409, "the sandbox is being paused already");
		return;
	}
	exchange_ref(x);
	if (pausing_begin(p, &err) < 0)
		pausing_on_done(p, NULL, &err);
}

void
e2b_pause_ended(struct server *s)
{
	uint64_t now_us = loop_now_us();
	struct e2b *e = s->e2b;
	struct remit_error err;
	struct sandbox *sb;
	struct pausing *p;

	do {
		pthread_mutex_lock(&e->lock);
		for (sb = e->first; sb; sb = sb->next)
			if (sb->pauses_at_end && !sb->is_pausing &&
			    sb->ends_us <= now_us)
				break;
		if (sb) {
			sb->is_pausing = true;
			sandbox_ref(sb);
		}
		pthread_mutex_unlock(&e->lock);
		if (!sb)
			break;
		/* If storing takes too long, the table of sessions ends the
		 * sandbox. */
		hosted_set_life(sb->hosted, GRACE_MS);
		p = calloc(1, sizeof(*p));
		if (!p) {
			sandbox_end(e, sb);
			sandbox_unref(sb);
			break;
		}
		*p = (struct pausing){ .server = s, .sb = sb };
		if (pausing_begin(p, &err) < 0)
			pausing_on_done(p, NULL, &err);
	} while (sb);
}

/* ---- snapshots of a live sandbox ---- */

static void
snapshot_on_done(void *user, struct remit_result *res,
		 const struct remit_error *err)
{
	struct pausing *p = user;
	json_t *names = json_array();

	(void)res;
	if (p->info.name[0])
		json_array_append_new(names, json_string(p->info.name));
	if (err) {
		json_decref(names);
		fail_storing(p->x, err);
	} else {
		reply_json(p->x, 201,
			   json_pack("{s:s, s:o, s:O}", "snapshotID",
				     p->info.id, "names", names, "skippedFiles",
				     p->skipped));
	}
	exchange_unref(p->x);
}

void
e2b_post_snapshot(struct exchange *x)
{
	static const struct hosted_events events = {
		.visit = pausing_visit,
		.result = snapshot_on_done,
	};
	struct pausing *p = pausing_new(x);
	struct remit_error err;

	if (!p)
		return;
	p->info.kind = SNAPSHOT_TEMPLATE;
	memcpy(p->info.source, p->sb->id, sizeof(p->info.source));
	if (read_name(p, x->json, &err) < 0 ||
	    hosted_make_id(p->info.id, &err) < 0) {
		e2b_error(x, &err);
		return;
	}
	exchange_ref(x);
	/* The snapshot waits for its turn, since the sandbox continues. */
	if (hosted_visit(p->sb->hosted, false, &events, p, &err) < 0)
		snapshot_on_done(p, NULL, &err);
}
