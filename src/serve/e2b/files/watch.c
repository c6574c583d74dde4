#include "serve/e2b/files/watch.h"

#include <string.h>

#include "base/text.h"
#include "serve/e2b/connect.h"
#include "serve/e2b/files/files.h"

#define STREAM "application/connect+json"
/* {"keepalive":{}} in its envelope. */
static const char keepalive[] = "\0\0\0\0\020{\"keepalive\":{}}";
_Static_assert(sizeof(keepalive) - 1 == 5 + 16,
	       "must match the length in its envelope");

/* ---- snapshots ---- */

/* The contents of a directory at one time. */
struct snapshot {
	struct snapshot_row {
		char *name; /* relative to the directory */
		enum remit_file_type type;
		unsigned mode;
		unsigned long long size;
		long long modified_ns;
		/* valid as long as the list that the row was made from */
		const struct remit_file_entry *entry;
	} *rows; /* sorted by name */
	size_t count;
};

/* The maximum size of the names in one snapshot. */
#define SNAPSHOT_NAMES_MAX ((size_t)2 * 1024 * 1024)

static int
by_name(const void *a, const void *b)
{
	const struct snapshot_row *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static void
snapshot_free(struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].name);
	free(s->rows);
	*s = (struct snapshot){ 0 };
}

/* Returns the path without the directory's name at its beginning. */
static const char *
name_below(const char *directory, const char *path)
{
	size_t n = strlen(directory);

	while (n && directory[n - 1] == '/')
		n--;
	return !strncmp(path, directory, n) && path[n] == '/' ? path + n + 1
							      : path;
}

/* Whether a list is complete and small enough to keep. */
static bool
snapshot_fits(const struct remit_file_answer *a)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->entry_count; i++)
		bytes += strlen(a->entries[i].path);
	return !a->truncated && bytes <= SNAPSHOT_NAMES_MAX;
}

/* Makes a snapshot from a list of `directory`. Returns -1 if memory is
   exhausted. */
static int
snapshot_make(struct snapshot *out, const char *directory,
	      const struct remit_file_answer *a)
{
	struct snapshot s = { .rows = calloc(a->entry_count + 1,
					     sizeof(*s.rows)) };

	for (size_t i = 0; s.rows && i < a->entry_count; i++) {
		const struct remit_file_entry *e = &a->entries[i];
		char *name = strdup(name_below(directory, e->path));

		if (!name) {
			snapshot_free(&s);
			return -1;
		}
		s.rows[s.count++] = (struct snapshot_row){
			.name = name,
			.type = e->type,
			.mode = e->mode,
			.size = e->size,
			.modified_ns = e->modified_ns,
			.entry = e,
		};
	}
	if (!s.rows)
		return -1;
	qsort(s.rows, s.count, sizeof(*s.rows), by_name);
	*out = s;
	return 0;
}

/* What has changed between two listings of a watched directory. */
struct changes {
	json_t *list;
	struct sandbox *sb; /* not NULL: events describe the entry */
};

static void
add_removed(struct changes *c, const struct snapshot_row *r)
{
	json_array_append_new(c->list,
			      json_pack("{s:o, s:s}", "name",
					text_to_json(r->name, strlen(r->name)),
					"type", "EVENT_TYPE_REMOVE"));
}

static void
add_event(struct changes *c, const struct snapshot_row *r, const char *type)
{
	json_t *event =
		json_pack("{s:o, s:s}", "name",
			  text_to_json(r->name, strlen(r->name)), "type", type);

	if (event && c->sb)
		json_object_set_new(event, "entry",
				    filing_entry(c->sb, r->entry));
	json_array_append_new(c->list, event);
}

static void
add_created(struct changes *c, const struct snapshot_row *r)
{
	add_event(c, r, "EVENT_TYPE_CREATE");
	if (r->type == REMIT_FILE_IS_REGULAR && r->size)
		add_event(c, r, "EVENT_TYPE_WRITE");
}

/* Adds the events for a changed entry. A directory changes when an entry in it
   is added or removed, which has its own event. */
static void
add_change(struct changes *c, const struct snapshot_row *before,
	   const struct snapshot_row *now)
{
	if (before->type != now->type) {
		add_removed(c, before);
		add_created(c, now);
		return;
	}
	if (now->type != REMIT_FILE_IS_FOLDER &&
	    (before->size != now->size ||
	     before->modified_ns != now->modified_ns))
		add_event(c, now, "EVENT_TYPE_WRITE");
	if (before->mode != now->mode)
		add_event(c, now, "EVENT_TYPE_CHMOD");
}

/*
 * Returns the changes between two snapshots as a new list of {"name", "type"},
 * as envd reports them, or NULL if memory is exhausted. With a sandbox, events
 * of existing entries have the member "entry"; the list that `now` was made
 * from must still exist. A file that was created and written to has both
 * events. A missing name counts as removed: a move cannot be recognised.
 */
static json_t *
snapshot_changes(const struct snapshot *before, const struct snapshot *now,
		 struct sandbox *sb)
{
	struct changes c = { .list = json_array(), .sb = sb };
	size_t b = 0, n = 0;

	while (c.list && (b < before->count || n < now->count)) {
		int difference = b == before->count ? 1
				 : n == now->count  ? -1
						    : by_name(&before->rows[b],
							      &now->rows[n]);

		if (difference < 0)
			add_removed(&c, &before->rows[b++]);
		else if (difference > 0)
			add_created(&c, &now->rows[n++]);
		else
			add_change(&c, &before->rows[b++], &now->rows[n++]);
	}
	return c.list;
}

/* ---- watchers ---- */

struct watcher {
	struct watcher
		*next; /* in its sandbox's list, or in that of all streams */
	char id[HOSTED_ID_SIZE];
	char *path; /* absolute, in the jail */
	unsigned depth;
	bool describes; /* events have the member "entry" */
	struct snapshot seen;
	/* Only for streams, whose exchange owns this. It is in the list while
	   the client is connected; a list in progress has a reference to the
	   exchange. */
	struct exchange *x;
	struct sandbox *sb;
	bool is_listing; /* protected by the lock */
};

void
watcher_free(struct watcher *w)
{
	if (!w)
		return;
	snapshot_free(&w->seen);
	free(w->path);
	free(w);
}

void
watchers_free(struct watcher *first)
{
	while (first) {
		struct watcher *w = first;

		first = w->next;
		watcher_free(w);
	}
}

/* Called with the lock held. */
static bool
unlink_watcher(struct watcher **at, const struct watcher *w)
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

	if (!snapshot_fits(a)) {
		refuse_watch(f, "resource_exhausted",
			     "too many entries to watch: watch one of its "
			     "subfolders");
		free(w);
		return NULL;
	}
	if (w) {
		w->depth = f->task.depth;
		w->describes = f->describes;
		w->path = strdup(f->to);
	}
	if (w && w->path && hosted_make_id(w->id, &err) == 0 &&
	    snapshot_make(&w->seen, f->to, a) == 0)
		return w;
	watcher_free(w);
	refuse_watch(f, "internal", "no memory");
	return NULL;
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
	f->task.op = REMIT_FILE_STAT;
	f->task.depth = json_is_true(json_object_get(message, "recursive"))
				? REMIT_FILE_DEPTH_MAX
				: 1;
	f->describes = json_is_true(json_object_get(message, "includeEntry"));
	f->on_answer = check_directory;
	f->on_list = on_list;
	f->on_error = fail_watch;
	f->more = list_directory;
	filing_begin(f);
}

/* ---- clients that poll ---- */

static void
keep_watcher(struct filing *f, const struct remit_file_answer *a)
{
	struct watcher *w = watcher_new(f, a);
	struct e2b *e = f->x->server->e2b;
	char id[HOSTED_ID_SIZE];
	size_t n = 0;

	if (!w)
		return;
	memcpy(id, w->id, sizeof(id));
	pthread_mutex_lock(&e->lock);
	for (const struct watcher *o = f->sb->watchers; o; o = o->next)
		n++;
	if (n < WATCHERS_MAX) {
		w->next = f->sb->watchers;
		f->sb->watchers = take_ptr(&w);
	}
	pthread_mutex_unlock(&e->lock);
	if (w)
		refuse_watch(f, "resource_exhausted",
			     "too many folders of this sandbox are watched");
	else
		reply_json(f->x, 200, json_pack("{s:s}", "watcherId", id));
	watcher_free(w);
}

void
e2b_create_watcher(struct exchange *x)
{
	struct filing *f = filing_new(x);

	if (f)
		begin_watch(f, x->json, keep_watcher);
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
	struct snapshot now = { 0 };
	json_t *changes = NULL;
	struct watcher *w;

	if (!snapshot_fits(a) || snapshot_make(&now, f->path, a) < 0) {
		connect_fail(f->x, "resource_exhausted",
			     "too many entries to watch");
		return;
	}
	pthread_mutex_lock(&e->lock);
	w = find_watcher(f->sb, f->x);
	if (w) {
		struct snapshot before = w->seen;

		changes = snapshot_changes(&before, &now,
					   w->describes ? f->sb : NULL);
		w->seen = now;
		now = before;
	}
	pthread_mutex_unlock(&e->lock);
	snapshot_free(&now);
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
	if (w) {
		f->path = strdup(w->path);
		f->task = (struct remit_file_task){ .op = REMIT_FILE_LIST,
						    .path = f->path,
						    .depth = w->depth };
	}
	pthread_mutex_unlock(&x->server->e2b->lock);
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
		unlink_watcher(&sb->watchers, w);
	pthread_mutex_unlock(&x->server->e2b->lock);
	sandbox_unref(sb);
	if (w)
		reply_json(x, 200, json_object());
	else
		fail_no_watcher(x);
	watcher_free(w);
}

/* ---- clients that stream ---- */

static void
watcher_on_gone(void *user)
{
	struct watcher *w = user;
	struct e2b *e = w->x->server->e2b;

	pthread_mutex_lock(&e->lock);
	unlink_watcher(&e->streams, w);
	pthread_mutex_unlock(&e->lock);
}

static void
watcher_on_list(void *user, const struct remit_file_answer *a)
{
	struct watcher *w = user;
	struct snapshot now = { 0 };
	json_auto_t *changes = NULL;
	json_t *change;
	size_t i;

	/* Skipped now: the next list may fit. */
	if (!snapshot_fits(a) || snapshot_make(&now, w->path, a) < 0)
		return;
	changes = snapshot_changes(&w->seen, &now, w->describes ? w->sb : NULL);
	snapshot_free(&w->seen);
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
		unlink_watcher(&e->streams, w);
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
		if (w->is_listing)
			continue;
		exchange_ref(w->x);
		if (s->is_draining)
			fail(err, REMIT_E_REFUSED,
			     "this server is shutting down");
		else if (list_again(w, err) == 0)
			continue;
		if (err->code == REMIT_E_GONE || s->is_draining) {
			unlink_watcher(&s->e2b->streams, w);
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

static void
open_stream(struct filing *f, const struct remit_file_answer *a)
{
	struct watcher *w = watcher_new(f, a);
	struct e2b *e = f->x->server->e2b;
	size_t n = 0;

	if (!w)
		return;
	f->watcher = w;
	w->x = f->x;
	w->sb = f->sb; /* of which `f` has a reference */
	if (connect_send(f->x, json_pack("{s:{}}", "start")) < 0)
		return;
	pthread_mutex_lock(&e->lock);
	for (const struct watcher *o = e->streams; o; o = o->next)
		n += o->sb == w->sb;
	if (n < WATCHERS_MAX) {
		w->next = e->streams;
		e->streams = w;
	}
	pthread_mutex_unlock(&e->lock);
	if (n < WATCHERS_MAX)
		exchange_on_gone(f->x, watcher_on_gone, w);
	else
		refuse_watch(f, "resource_exhausted",
			     "too many folders of this sandbox are watched");
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
	begin_watch(f, message, open_stream);
}
