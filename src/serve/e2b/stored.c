/*
 * e2b_stored: paused sandboxes and snapshots as clients of E2B see them: which
 * exist, and what is stored with them.
 */
#include <stdio.h>
#include <string.h>

#include "serve/e2b/part.h"
#include "serve/e2b/policy.h"

#define LIST_MAX 100

bool
e2b_find_stored(const struct exchange *x, unsigned kinds, const char *id,
		struct snapshot_info *out)
{
	struct snapshot_store *store = x->server->snapshots;

	return store && x->key &&
	       snapshot_store_find(store, x->owner, kinds, id, out);
}

json_t *
e2b_stored_about(struct server *s, const char *owner, const char *id,
		 struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(SNAPSHOT_ABOUT_MAX);
	json_t *about;

	if (snapshot_store_about(s->snapshots, owner, id, &text, err) < 0)
		return NULL;
	about = json_loadb(buf_text(&text), text.len, 0, NULL);
	if (json_is_object(about))
		return about;
	json_decref(about);
	fail(err, REMIT_E_KERNEL,
	     "the snapshot is damaged: its description is malformed");
	return NULL;
}

json_t *
e2b_paused_json(struct server *s, const char *owner,
		const struct snapshot_info *info)
{
	struct remit_error err;
	json_auto_t *about = e2b_stored_about(s, owner, info->id, &err);
	json_t *doc = about ? json_deep_copy(json_object_get(about, "info"))
			    : json_object();

	if (!doc)
		return NULL;
	json_object_set_new(doc, "state", json_string("paused"));
	json_object_set_new(doc, "sandboxID", json_string(info->id));
	if (!json_object_get(doc, "startedAt"))
		json_object_set_new(doc, "startedAt",
				    e2b_time_json(info->created_ms));
	json_object_set_new(doc, "endAt", e2b_time_json(info->expires_ms));
	return doc;
}

/* ---- the lists ---- */

static json_t *
snapshot_json(const struct snapshot_info *info)
{
	json_t *names = json_array();

	if (info->name[0])
		json_array_append_new(names, json_string(info->name));
	return json_pack("{s:s, s:o}", "snapshotID", info->id, "names", names);
}

static bool
matches(const struct exchange *x, const struct snapshot_info *info)
{
	const char *source = exchange_query(x, "sandboxID");
	const char *name = exchange_query(x, "name");

	return (!source || !strcmp(source, info->source)) &&
	       (!name || !strcmp(name, info->name) || !strcmp(name, info->id));
}

static size_t
query_size(const struct exchange *x, const char *name, size_t otherwise)
{
	const char *text = exchange_query(x, name);

	return text ? (size_t)strtoul(text, NULL, 10) : otherwise;
}

void
e2b_get_snapshots(struct exchange *x)
{
	size_t limit = query_size(x, "limit", LIST_MAX);
	size_t skip = query_size(x, "nextToken", 0), count = 0, seen = 0;
	struct snapshot_info *all = NULL;
	json_t *page = json_array();
	char token[24];

	if (x->server->snapshots &&
	    snapshot_store_list(x->server->snapshots, x->owner,
				SNAPSHOT_TEMPLATE, &all, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++)
		if (matches(x, &all[i]) && seen++ >= skip &&
		    json_array_size(page) < limit)
			json_array_append_new(page, snapshot_json(&all[i]));
	free(all);
	if (skip + json_array_size(page) < seen) {
		snprintf(token, sizeof(token), "%zu",
			 skip + json_array_size(page));
		reply_header(x, "x-next-token", token);
	}
	reply_json(x, 200, page);
}

/* ---- removing ---- */

static void
remove_stored(struct exchange *x, unsigned kind, const char *what)
{
	struct snapshot_store *store = x->server->snapshots;
	const char *id = exchange_param(x, "id");
	struct snapshot_info info;

	if (!e2b_find_stored(x, kind, id, &info)) {
		e2b_fail(x, 404, "there is no %s %.40s", what, id);
		return;
	}
	/* Only one of several requests removes it, and none while it is
	   resumed. */
	if (!snapshot_store_claim(store, x->owner, info.id)) {
		e2b_fail(x, 409, "the %s is in use", what);
		return;
	}
	if (snapshot_store_remove(store, x->owner, info.id))
		reply_bytes(x, 204, NULL, "", 0);
	else
		e2b_fail(x, 404, "there is no %s %.40s", what, id);
}

void
e2b_delete_paused(struct exchange *x)
{
	remove_stored(x, SNAPSHOT_PAUSED, "sandbox");
}

static void
delete_snapshot(struct exchange *x)
{
	remove_stored(x, SNAPSHOT_TEMPLATE, "snapshot");
}

void
e2b_delete_template(struct exchange *x)
{
	if (e2b_is_template(exchange_param(x, "id")))
		e2b_fail(x, 403, "this template is the server's interpreter");
	else
		exchange_in_thread(x, delete_snapshot);
}
