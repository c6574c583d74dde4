#include "serve/e2b/files/watch.h"

#include <string.h>

#include "base/text.h"
#include "serve/e2b/connect.h"
#include "serve/e2b/files/files.h"
#include "serve/e2b/files/live.h"

#define STREAM "application/connect+json"
/* {"keepalive":{}} in its envelope. */
static const char keepalive[] = "\0\0\0\0\020{\"keepalive\":{}}";
_Static_assert(sizeof(keepalive) - 1 == 5 + 16,
	       "must match the length in its envelope");

/* ---- watchers ---- */

void
watcher_unref(struct watcher *w)
{
	if (!w || !refcount_dec_and_test(&w->refs))
		return;
	listing_free(&w->seen);
	buf_free(&w->events);
	free(w->path);
	free(w);
}

void
watchers_unref(struct watcher *first)
{
	while (first) {
		struct watcher *w = first;

		first = w->next;
		watcher_unref(w);
	}
}

bool
watcher_unlink(struct watcher **at, const struct watcher *w)
{
	while (*at && *at != w)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = w->next;
	return true;
}

/* ---- the start: stat the path, then list the directory ---- */

static void
fail_watch(struct filing *f, const struct remit_error *err)
{
	if (f->x->is_stream)
		connect_end(f->x, connect_code(err), err->message);
	else
		connect_fail(f->x, connect_code(err), err->message);
}

static void
refuse_watch(struct filing *f, const char *code, const char *message)
{
	if (f->x->is_stream)
		connect_end(f->x, code, message);
	else
		connect_fail(f->x, code, message);
}

static void
check_directory(struct filing *f, const struct remit_file_answer *a)
{
	if (!a->entry_count || a->entries[0].type != REMIT_FILE_IS_FOLDER) {
		refuse_watch(f, "invalid_argument", "the path is not a folder");
		return;
	}
	f->to = strdup(a->entries[0].path);
	if (!f->to)
		refuse_watch(f, "internal", "no memory");
}

static bool
list_directory(struct filing *f)
{
	if (f->task.op != REMIT_FILE_STAT || !f->to)
		return false;
	f->task.op = REMIT_FILE_LIST;
	f->task.path = f->to;
	f->on_answer = f->on_list;
	return true;
}

/* Returns NULL after it has sent an error. */
static struct watcher *
watcher_new(struct filing *f, const struct remit_file_answer *a)
{
	struct watcher *w = calloc(1, sizeof(*w));
	struct remit_error err;

	if (!listing_fits(a)) {
		refuse_watch(f, "resource_exhausted",
			     "too many entries to watch: watch one of its "
			     "subfolders");
		free(w);
		return NULL;
	}
	if (w) {
		w->refs = (struct refcount)REFCOUNT_INIT(1);
		w->depth = f->task.depth;
		w->describes = f->describes;
		w->path = strdup(f->to);
	}
	if (w && w->path && hosted_make_id(w->id, &err) == 0 &&
	    listing_make(&w->seen, f->to, a) == 0)
		return w;
	watcher_unref(w);
	refuse_watch(f, "internal", "no memory");
	return NULL;
}

void
watch_by_listing(struct filing *f)
{
	f->task.op = REMIT_FILE_STAT;
	f->on_answer = check_directory;
	f->more = list_directory;
	filing_begin(f);
}

static void
begin_watch(struct filing *f, const json_t *message,
	    void (*on_list)(struct filing *, const struct remit_file_answer *))
{
	const char *path = e2b_request_text(message, "path");

	if (!path || filing_set_path(f, path) < 0) {
		refuse_watch(f, "invalid_argument", "path: must be a string");
		return;
	}
	f->task.depth = json_is_true(json_object_get(message, "recursive"))
				? REMIT_FILE_DEPTH_MAX
				: 1;
	f->describes = json_is_true(json_object_get(message, "includeEntry"));
	f->on_list = on_list;
	f->on_error = fail_watch;
	if (!live_begin(f, f->task.depth > 1))
		watch_by_listing(f);
}

/* ---- clients that poll ---- */

void
watcher_keep(struct filing *f, struct watcher *w)
{
	struct e2b *e = f->x->server->e2b;
	char id[HOSTED_ID_SIZE];
	size_t n = 0;

	memcpy(id, w->id, sizeof(id));
	pthread_mutex_lock(&e->lock);
	for (const struct watcher *o = f->sb->watchers; o; o = o->next)
		n++;
	if (n < WATCHERS_MAX) {
		w->next = f->sb->watchers;
		f->sb->watchers = take_ptr(&w);
	}
	pthread_mutex_unlock(&e->lock);
	if (w) {
		live_stop(w, f->sb);
		refuse_watch(f, "resource_exhausted",
			     "too many folders of this sandbox are watched");
	} else {
		reply_json(f->x, 200, json_pack("{s:s}", "watcherId", id));
	}
	watcher_unref(w);
}

static void
keep_listed(struct filing *f, const struct remit_file_answer *a)
{
	struct watcher *w = watcher_new(f, a);

	if (w)
		watcher_keep(f, w);
}

void
e2b_create_watcher(struct exchange *x)
{
	struct filing *f = filing_new(x);

	if (f)
		begin_watch(f, x->json, keep_listed);
}

/* Called with the lock held. */
static struct watcher *
find_watcher(const struct sandbox *sb, const struct exchange *x)
{
	const char *id = e2b_request_text(x->json, "watcherId");
	struct watcher *w;

	for (w = sb->watchers; w && (!id || strcmp(w->id, id) != 0);
	     w = w->next)
		;
	return w;
}

static void
fail_no_watcher(struct exchange *x)
{
	connect_fail(x, "not_found", "there is no such watcher");
}

/* Replies with the changes since the last poll. */
static void
reply_changes(struct filing *f, const struct remit_file_answer *a)
{
	struct e2b *e = f->x->server->e2b;
	struct listing now = { 0 };
	json_t *changes = NULL;
	struct watcher *w;

	if (!listing_fits(a) || listing_make(&now, f->path, a) < 0) {
		connect_fail(f->x, "resource_exhausted",
			     "too many entries to watch");
		return;
	}
	pthread_mutex_lock(&e->lock);
	w = find_watcher(f->sb, f->x);
	if (w) {
		struct listing before = w->seen;

		changes = listing_changes(&before, &now,
					  w->describes ? f->sb : NULL);
		w->seen = now;
		now = before;
	}
	pthread_mutex_unlock(&e->lock);
	listing_free(&now);
	if (w)
		reply_json(f->x, 200, json_pack("{s:o}", "events", changes));
	else
		fail_no_watcher(f->x);
}

static void
fail_changes(struct filing *f, const struct remit_error *err)
{
	struct remit_file_answer nothing = { 0 };

	if (err->sys_errno == ENOENT)
		reply_changes(f, &nothing);
	else
		connect_fail(f->x, connect_code(err), err->message);
}

void
e2b_get_events(struct exchange *x)
{
	struct filing *f = filing_new(x);
	struct watcher *w;

	if (!f)
		return;
	pthread_mutex_lock(&x->server->e2b->lock);
	w = find_watcher(f->sb, x);
	if (w && w->is_live) {
		refcount_inc(&w->refs);
		f->watcher = w;
	} else if (w) {
		f->path = strdup(w->path);
		f->task = (struct remit_file_task){ .op = REMIT_FILE_LIST,
						    .path = f->path,
						    .depth = w->depth };
	}
	pthread_mutex_unlock(&x->server->e2b->lock);
	if (f->watcher) {
		live_reply_events(f);
		return;
	}
	if (!w || !f->path) {
		fail_no_watcher(x);
		return;
	}
	f->on_answer = reply_changes;
	f->on_error = fail_changes;
	filing_begin(f);
}

void
e2b_remove_watcher(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	struct watcher *w;

	if (!sb)
		return;
	pthread_mutex_lock(&x->server->e2b->lock);
	w = find_watcher(sb, x);
	if (w)
		watcher_unlink(&sb->watchers, w);
	pthread_mutex_unlock(&x->server->e2b->lock);
	if (w)
		live_stop(w, sb);
	sandbox_unref(sb);
	if (w)
		reply_json(x, 200, json_object());
	else
		fail_no_watcher(x);
	watcher_unref(w);
}

/* ---- clients that stream ---- */

static void
watcher_on_gone(void *user)
{
	struct watcher *w = user;
	struct e2b *e = w->x->server->e2b;

	pthread_mutex_lock(&e->lock);
	watcher_unlink(&e->streams, w);
	pthread_mutex_unlock(&e->lock);
	live_stop(w, w->sb);
}

static void
watcher_on_list(void *user, const struct remit_file_answer *a)
{
	struct watcher *w = user;
	struct listing now = { 0 };
	json_auto_t *changes = NULL;
	json_t *change;
	size_t i;

	/* Skipped now: the next list may fit. */
	if (!listing_fits(a) || listing_make(&now, w->path, a) < 0)
		return;
	changes = listing_changes(&w->seen, &now, w->describes ? w->sb : NULL);
	listing_free(&w->seen);
	w->seen = now;
	json_array_foreach(changes, i, change)
	{
		if (connect_send(w->x,
				 json_pack("{s:O}", "filesystem", change)) < 0)
			return; /* watcher_on_gone() handles it */
	}
}

/* Ends the stream because the jail has ended. */
static void
end_stream(struct watcher *w, const struct remit_error *err)
{
	if (err->code == REMIT_E_GONE)
		reply_abort(w->x);
	else
		connect_end(w->x, connect_code(err), err->message);
}

static void
watcher_on_listed(void *user, struct remit_result *res,
		  const struct remit_error *err)
{
	bool is_last = err && (err->code == REMIT_E_GONE ||
			       err->code == REMIT_E_REFUSED);
	struct remit_file_answer nothing = { 0 };
	struct watcher *w = user;
	struct e2b *e = w->x->server->e2b;

	(void)res;
	if (err && err->sys_errno == ENOENT)
		watcher_on_list(w, &nothing);
	pthread_mutex_lock(&e->lock);
	w->is_listing = false;
	if (is_last)
		watcher_unlink(&e->streams, w);
	pthread_mutex_unlock(&e->lock);
	if (is_last)
		end_stream(w, err);
	exchange_unref(w->x);
}

static const struct hosted_events events = {
	.file = watcher_on_list,
	.result = watcher_on_listed,
};

/* Lists the directory again. Called with the lock held and a reference to the
   exchange. */
static int
list_again(struct watcher *w, struct remit_error *err)
{
	struct remit_file_task task = { .op = REMIT_FILE_LIST,
					.path = w->path,
					.depth = w->depth };
	struct hosted_loan none = { 0 };

	w->is_listing = true;
	if (hosted_file(w->sb->hosted, &task, none, &events, w, err) == 0)
		return 0;
	w->is_listing = false;
	return -1;
}

/* Starts a list for each stream. Returns a watcher whose stream must end,
   removed from the list, or NULL. */
static struct watcher *
list_all_again(struct server *s, struct remit_error *err)
{
	struct watcher *w, *next;

	for (w = s->e2b->streams; w; w = next) {
		next = w->next;
		if (w->is_listing || (w->is_live && !s->is_draining))
			continue;
		exchange_ref(w->x);
		if (s->is_draining)
			fail(err, REMIT_E_REFUSED,
			     "this server is shutting down");
		else if (list_again(w, err) == 0)
			continue;
		if (err->code == REMIT_E_GONE || s->is_draining) {
			watcher_unlink(&s->e2b->streams, w);
			return w;
		}
		exchange_unref(w->x); /* its connection has another reference */
	}
	return NULL;
}

void
e2b_tick(struct server *s)
{
	struct remit_error err;
	struct watcher *w;

	do {
		pthread_mutex_lock(&s->e2b->lock);
		w = list_all_again(s, &err);
		pthread_mutex_unlock(&s->e2b->lock);
		if (w) {
			end_stream(w, &err);
			exchange_unref(w->x);
		}
	} while (w);
}

void
watcher_open_stream(struct filing *f, struct watcher *w)
{
	struct e2b *e = f->x->server->e2b;
	size_t n = 0;

	refcount_inc(&w->refs);
	f->watcher = w;
	w->x = f->x;
	w->sb = f->sb; /* of which `f` has a reference */
	if (connect_send(f->x, json_pack("{s:{}}", "start")) < 0) {
		live_stop(w, f->sb);
		return;
	}
	pthread_mutex_lock(&e->lock);
	for (const struct watcher *o = e->streams; o; o = o->next)
		n += o->sb == w->sb;
	if (n < WATCHERS_MAX) {
		w->next = e->streams;
		e->streams = w;
	}
	pthread_mutex_unlock(&e->lock);
	if (n < WATCHERS_MAX) {
		exchange_on_gone(f->x, watcher_on_gone, w);
		return;
	}
	live_stop(w, f->sb);
	refuse_watch(f, "resource_exhausted",
		     "too many folders of this sandbox are watched");
}

static void
open_listed(struct filing *f, const struct remit_file_answer *a)
{
	struct watcher *w = watcher_new(f, a);

	if (w)
		watcher_open_stream(f, w);
	watcher_unref(w);
}

void
e2b_watch_dir(struct exchange *x)
{
	struct filing *f = filing_new(x);
	json_auto_t *message = f ? e2b_read_envelope(&x->body.data) : NULL;

	if (!f)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	begin_watch(f, message, open_listed);
}
