#include "serve/e2b/files/live.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "serve/e2b/connect.h"

/* The maximum size of the events that wait for a client that polls. */
#define EVENTS_MAX ((size_t)256 * 1024)

static const char *const types[] = {
	[WATCH_CREATED] = "EVENT_TYPE_CREATE",
	[WATCH_WRITTEN] = "EVENT_TYPE_WRITE",
	[WATCH_REMOVED] = "EVENT_TYPE_REMOVE",
	[WATCH_RENAMED] = "EVENT_TYPE_RENAME",
	[WATCH_CHANGED] = "EVENT_TYPE_CHMOD",
};

/* ---- one event ---- */

static json_t *
entry_json(const struct watcher *w, struct sandbox *sb,
	   const struct watch_event *e)
{
	own_mem char *path = NULL, *target = NULL;
	uint32_t kind = e->entry.mode & S_IFMT;
	struct remit_file_entry entry = {
		.type = kind == S_IFREG	  ? REMIT_FILE_IS_REGULAR
			: kind == S_IFDIR ? REMIT_FILE_IS_FOLDER
			: kind == S_IFLNK ? REMIT_FILE_IS_LINK
					  : REMIT_FILE_IS_OTHER,
		.mode = e->entry.mode & 07777,
		.size = e->entry.size,
		.modified_ns =
			e->entry.modified_ns < 0 ? 0 : e->entry.modified_ns,
		.device = e->entry.device,
		.inode = e->entry.inode,
	};

	if (asprintf(&path, "%s/%.*s", w->path, (int)e->name_len, e->name) <
	    0) {
		path = NULL;
		return NULL;
	}
	target = strndup(e->target, e->target_len);
	entry.path = path;
	entry.target = target;
	return filing_entry(sb, &entry);
}

/* Returns {"name", "type"}, and "entry" if the event has one; NULL if memory is
   exhausted. */
static json_t *
event_json(const struct watcher *w, struct sandbox *sb,
	   const struct watch_event *e)
{
	json_t *event = json_pack("{s:o, s:s}", "name",
				  text_to_json(e->name, e->name_len), "type",
				  types[e->kind]);

	if (event && e->has_entry)
		json_object_set_new(event, "entry", entry_json(w, sb, e));
	return event;
}

/* ---- events that wait ---- */

/* Whether the last event was the same. */
static bool
repeats_last(const struct watcher *w, const struct watch_event *e)
{
	const char *at = w->events.data + w->last_event;
	struct watch_event last;
	uint32_t len;

	if (e->kind != WATCH_WRITTEN || !w->events.len)
		return false;
	memcpy(&len, at, sizeof(len));
	return watch_event_read(&last, at + sizeof(len), len) == 0 &&
	       last.kind == e->kind && last.name_len == e->name_len &&
	       !memcmp(last.name, e->name, e->name_len);
}

static int
store_event(struct watcher *w, const struct watch_event *e)
{
	size_t at;
	uint32_t len = 0;

	if (repeats_last(w, e))
		w->events.len = w->last_event;
	at = w->events.len;
	if (buf_add(&w->events, &len, sizeof(len)) < 0 ||
	    watch_event_write(&w->events, e) < 0)
		return -1;
	len = (uint32_t)(w->events.len - at - sizeof(len));
	memcpy(w->events.data + at, &len, sizeof(len));
	w->last_event = at;
	return 0;
}

/* Called with the lock held. Until the client polls, the memory is bounded; if
   more happens, the events are incomplete, and no more are kept. */
static void
keep_event(struct watcher *w, const struct watch_event *e)
{
	if (w->ended || store_event(w, e) == 0)
		return;
	buf_free(&w->events);
	w->events = (struct buf)BUF_INIT(EVENTS_MAX);
	w->ended = WATCH_LOST;
}

/* ---- what the hosted session reports ---- */

static void
begin(struct watcher *w, const struct watch_event *e)
{
	struct filing *f = w->filing;
	const char *home = f->sb->names.items[0];

	w->filing = NULL;
	if (asprintf(&w->path, "%s%s%.*s", home, e->name_len ? "/" : "",
		     (int)e->name_len, e->name) < 0)
		w->path = NULL;
	if (w->x) {
		watcher_open_stream(f, w);
	} else {
		refcount_inc(&w->refs);
		watcher_keep(f, w);
		exchange_unref(f->x);
	}
}

static void
on_event(void *user, const struct watch_event *e)
{
	struct watcher *w = user;

	if (e->kind == WATCH_BEGUN) {
		if (w->filing)
			begin(w, e);
	} else if (!watch_is_of_file(e->kind) || !w->path) {
		return;
	} else if (w->x) {
		/* If the client is gone, its watcher is stopped. */
		(void)!connect_send(w->x, json_pack("{s:o}", "filesystem",
						    event_json(w, w->sb, e)));
	} else {
		pthread_mutex_lock(&w->e2b->lock);
		keep_event(w, e);
		pthread_mutex_unlock(&w->e2b->lock);
	}
}

struct end {
	const char *code, *message;
};

static struct end
end_of(enum watch_kind why)
{
	switch (why) {
	case WATCH_LOST:
		return (struct end){
			"resource_exhausted",
			"events were lost: too much has happened, or the "
			"folder was moved. List it, and watch it again"
		};
	case WATCH_FULL:
		return (struct end){ "resource_exhausted",
				     "too many entries to watch: watch one of "
				     "its subfolders" };
	default:
		return (struct end){ "failed_precondition",
				     "the files that were watched are gone "
				     "with their jail" };
	}
}

static void
end_stream(struct watcher *w, enum watch_kind why)
{
	struct end end = end_of(why);

	if (why == WATCH_GONE && hosted_is_dropped(w->sb->hosted))
		reply_abort(w->x);
	else
		connect_end(w->x, end.code, end.message);
}

static void
on_ended(void *user, enum watch_kind why)
{
	struct watcher *w = user;
	struct filing *f = w->filing;
	struct exchange *x = w->x ? w->x : f ? f->x : NULL;
	bool is_open;

	pthread_mutex_lock(&w->e2b->lock);
	w->ended = w->ended ? w->ended : why;
	is_open = w->x && watcher_unlink(&w->e2b->streams, w);
	pthread_mutex_unlock(&w->e2b->lock);
	if (f)
		watch_by_listing(f);
	else if (is_open)
		end_stream(w, why);
	watcher_unref(w);
	exchange_unref(x);
}

static const struct hosted_watch_events events = {
	.event = on_event,
	.ended = on_ended,
};

/* ---- requests ---- */

bool
live_begin(struct filing *f, bool recursive)
{
	struct watcher *w = calloc(1, sizeof(*w));
	unsigned flags = (recursive ? WATCH_RECURSIVE : 0) |
			 (f->describes ? WATCH_DESCRIBES : 0);
	struct remit_error err;

	if (!w || hosted_make_id(w->id, &err) < 0) {
		free(w);
		return false;
	}
	w->refs = (struct refcount)REFCOUNT_INIT(1);
	w->is_live = true;
	w->e2b = f->x->server->e2b;
	w->describes = f->describes;
	w->events = (struct buf)BUF_INIT(EVENTS_MAX);
	w->filing = f;
	if (f->x->is_stream) {
		w->x = f->x;
		w->sb = f->sb; /* of which `f` has a reference */
	}
	exchange_ref(f->x);
	if (hosted_watch(f->sb->hosted, f->path, flags, &events, w, &w->watch,
			 &err) == 0)
		return true;
	watcher_unref(w);
	exchange_unref(f->x);
	return false;
}

void
live_stop(const struct watcher *w, struct sandbox *sb)
{
	if (w->is_live)
		hosted_watch_stop(sb->hosted, w->watch);
}

/* ---- clients that poll ---- */

static json_t *
events_json(const struct watcher *w, struct sandbox *sb, const struct buf *b)
{
	json_t *list = json_array();
	struct watch_event e;
	uint32_t len;

	for (size_t at = 0; at < b->len; at += len) {
		memcpy(&len, b->data + at, sizeof(len));
		at += sizeof(len);
		if (watch_event_read(&e, b->data + at, len) == 0)
			json_array_append_new(list, event_json(w, sb, &e));
	}
	return list;
}

static void
reply_now(void *user)
{
	struct filing *f = user;
	struct watcher *w = f->watcher;
	own(buf) struct buf all = BUF_INIT(EVENTS_MAX);
	enum watch_kind ended;

	pthread_mutex_lock(&w->e2b->lock);
	all = w->events;
	w->events = (struct buf)BUF_INIT(EVENTS_MAX);
	ended = w->ended;
	pthread_mutex_unlock(&w->e2b->lock);
	if (ended && !all.len)
		connect_fail(f->x, end_of(ended).code, end_of(ended).message);
	else
		reply_json(f->x, 200,
			   json_pack("{s:o}", "events",
				     events_json(w, f->sb, &all)));
	exchange_unref(f->x);
}

void
live_reply_events(struct filing *f)
{
	struct remit_error err;

	exchange_ref(f->x);
	/* If the watcher has ended, its last events are here already. */
	if (hosted_watch_sync(f->sb->hosted, reply_now, f, &err) < 0)
		reply_now(f);
}
