#include "hosted/snapshot/copy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"
#include "base/list.h"
#include "base/number.h"

/* The maximum number of files, directories and links. */
#define ENTRIES_MAX 100000
/* How much is read or written at once. */
#define PIECE ((size_t)4 * 1024 * 1024)
/* The jail's name of a path is longer than the relative one. */
#define PATH_SPARE 64

/* The name of the workspace, relative to itself. */
#define WORKSPACE "."

/* ---- from a session ---- */

struct capture {
	struct remit_session *session;
	struct snapshot_writer *w;
	uint64_t max_bytes, bytes, entries;
	unsigned long long device; /* of the workspace */
	struct list directories;   /* found, but not listed yet */
};

/* Performs an operation. Returns 1 if the file itself is the reason of a
   failure, and sets *reason; -1 if it is the session. */
static int
perform(const struct capture *c, const struct remit_file_task *t,
	struct remit_file_answer **answer, char reason[128],
	struct remit_error *err)
{
	if (remit_session_file(c->session, t, answer, err) == 0)
		return 0;
	if (err->code != REMIT_E_INPUT || !err->sys_errno)
		return -1;
	snprintf(reason, 128, "%s", strerror(err->sys_errno));
	return 1;
}

/* Reads `size` bytes of a file; fewer if it has become shorter. Returns as
   perform(). */
static int
read_bytes(struct capture *c, const char *path, uint64_t size, char reason[128],
	   struct remit_error *err)
{
	struct remit_file_task t = { .op = REMIT_FILE_READ, .path = path };
	uint64_t at = 0;

	/* Open an empty file, too, since it may be unreadable. */
	do {
		struct remit_file_answer *a = NULL;
		int failed;
		size_t got;

		t.offset = at;
		t.length = size - at < PIECE ? (size_t)(size - at) : PIECE;
		if (!t.length)
			t.length = 1;
		failed = perform(c, &t, &a, reason, err);
		if (failed)
			return failed;
		got = a->len < t.length ? a->len : t.length;
		if (got > size - at)
			got = (size_t)(size - at);
		failed = snapshot_add_bytes(c->w, a->bytes, got, err);
		remit_file_answer_free(a);
		if (failed < 0)
			return -1;
		at += got;
		if (!got)
			break;
	} while (at < size);
	return 0;
}

static int
capture_file(struct capture *c, const char *path,
	     const struct remit_file_entry *e, struct remit_error *err)
{
	const struct snapshot_attributes a = { e->mode, e->modified_ns };
	char reason[128];
	int failed;

	c->bytes = number_add(c->bytes, e->size);
	if (c->bytes > c->max_bytes)
		return fail_refused(
			err, "disk_bytes",
			"Remove the holes of such files, or the files.",
			"with their holes filled, as they would be stored, the "
			"files are longer than disk_bytes (%llu bytes); one of "
			"them has %llu bytes",
			(unsigned long long)c->max_bytes,
			(unsigned long long)e->size);
	if (snapshot_begin_file(c->w, err) < 0)
		return -1;
	failed = read_bytes(c, path, e->size, reason, err);
	if (failed < 0)
		return -1;
	if (failed) {
		snapshot_discard_file(c->w);
		return snapshot_add_skipped(c->w, path, reason, err);
	}
	return snapshot_end_file(c->w, path, &a, err);
}

static int
capture_directory(struct capture *c, const char *path,
		  const struct remit_file_entry *e, struct remit_error *err)
{
	const struct snapshot_attributes a = { e->mode, e->modified_ns };

	if (list_add(&c->directories, path) < 0)
		return fail_memory(err, "snapshot");
	return snapshot_add_directory(c->w, path, &a, err);
}

/* The names come from the session and may be lies: use only the last component,
   below the directory that was listed. Returns NULL if memory is exhausted, and
   "" for a name that no file can have. */
static char *
entry_path(const char *directory, const char *claimed)
{
	const char *name = path_name(claimed);
	size_t len = strlen(name);
	char *path;

	if (!len || len > NAME_MAX || !strcmp(name, ".") || !strcmp(name, ".."))
		return strdup("");
	if (!strcmp(directory, WORKSPACE))
		return strdup(name);
	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static int
capture_entry(struct capture *c, const char *directory,
	      const struct remit_file_entry *e, struct remit_error *err)
{
	own_mem char *path = entry_path(directory, e->path ? e->path : "");

	if (!path)
		return fail_memory(err, "snapshot");
	if (!*path)
		return fail(err, REMIT_E_PROTOCOL,
			    "malformed file reply from the session");
	if (++c->entries > ENTRIES_MAX)
		return fail(err, REMIT_E_INPUT,
			    "there are more than %d files, directories and "
			    "links, the most that a snapshot can have",
			    ENTRIES_MAX);
	if (strlen(path) + PATH_SPARE >= PATH_MAX)
		return snapshot_add_skipped(c->w, directory,
					    "the path is too long", err);
	if (e->device != c->device)
		return snapshot_add_skipped(
			c->w, path, "it is on another file system", err);
	switch (e->type) {
	case REMIT_FILE_IS_REGULAR:
		return capture_file(c, path, e, err);
	case REMIT_FILE_IS_FOLDER:
		return capture_directory(c, path, e, err);
	case REMIT_FILE_IS_LINK:
		if (e->target && *e->target)
			return snapshot_add_link(c->w, path, e->target, err);
		break;
	case REMIT_FILE_IS_OTHER:
		break;
	}
	return snapshot_add_skipped(
		c->w, path, "it is not a file, a directory or a link", err);
}

static int
list_directory(struct capture *c, const char *directory,
	       struct remit_error *err)
{
	const struct remit_file_task t = { .op = REMIT_FILE_LIST,
					   .path = directory,
					   .depth = 1 };
	struct remit_file_answer *a = NULL;
	char reason[128];
	int failed = perform(c, &t, &a, reason, err);

	if (failed > 0)
		return snapshot_add_skipped(c->w, directory, reason, err);
	if (failed < 0)
		return -1;
	if (a->truncated)
		failed = fail(err, REMIT_E_INPUT,
			      "a directory has more than %d entries, the most "
			      "that a snapshot can have",
			      REMIT_FILE_LIST_MAX);
	for (size_t i = 0; i < a->entry_count && !failed; i++)
		failed = capture_entry(c, directory, &a->entries[i], err);
	remit_file_answer_free(a);
	return failed;
}

static int
capture_all(struct capture *c, struct remit_error *err)
{
	const struct remit_file_task t = { .op = REMIT_FILE_STAT,
					   .path = WORKSPACE };
	struct remit_file_answer *a = NULL;

	if (remit_session_file(c->session, &t, &a, err) < 0)
		return -1;
	c->device = a->entry_count ? a->entries[0].device : 0;
	remit_file_answer_free(a);
	if (list_add(&c->directories, WORKSPACE) < 0)
		return fail_memory(err, "snapshot");
	for (size_t i = 0; i < c->directories.count; i++)
		if (list_directory(c, c->directories.items[i], err) < 0)
			return -1;
	return 0;
}

int
snapshot_capture(struct remit_session *session, struct snapshot_writer *w,
		 uint64_t max_bytes, struct remit_error *err)
{
	struct capture c = { .session = session,
			     .w = w,
			     .max_bytes = max_bytes };
	int failed = capture_all(&c, err);

	list_free(&c.directories);
	return failed;
}

/* ---- into a session ---- */

struct restore {
	struct remit_session *session;
	struct snapshot_reader *r;
	size_t piece;
	const char *path; /* of the current file */
	bool appends;
};

static int
restore_task(const struct restore *s, const struct remit_file_task *t,
	     struct remit_error *err)
{
	struct remit_file_answer *a = NULL;
	int failed = remit_session_file(s->session, t, &a, err);

	remit_file_answer_free(a);
	return failed;
}

static int
write_piece(void *user, const char *bytes, size_t len, struct remit_error *err)
{
	struct restore *s = user;
	const struct remit_file_task t = {
		.op = REMIT_FILE_WRITE,
		.path = s->path,
		.bytes = bytes,
		.len = len,
		.append = s->appends,
	};

	s->appends = true;
	return restore_task(s, &t, err);
}

static int
set_attributes(const struct restore *s, const struct snapshot_entry *e,
	       struct remit_error *err)
{
	const struct remit_file_task t = {
		.op = REMIT_FILE_SET,
		.path = e->path,
		.mode = e->attributes.mode,
		.modified_ns = e->attributes.modified_ns,
	};

	if (restore_task(s, &t, err) == 0)
		return 0;
	/* The tier landlock lets no code change them. */
	return err->code == REMIT_E_INPUT && err->sys_errno == EPERM ? 0 : -1;
}

static int
restore_file(struct restore *s, const struct snapshot_entry *e,
	     struct remit_error *err)
{
	s->path = e->path;
	s->appends = false;
	if (!e->size && write_piece(s, "", 0, err) < 0)
		return -1;
	if (snapshot_read_object(s->r, e, s->piece, write_piece, s, err) < 0)
		return -1;
	return set_attributes(s, e, err);
}

static bool
exists_already(const struct remit_error *err)
{
	return err->code == REMIT_E_INPUT && err->sys_errno == EEXIST;
}

/* A new session may have some directories already. */
static int
restore_directory(const struct restore *s, const struct snapshot_entry *e,
		  struct remit_error *err)
{
	const struct remit_file_task make = { .op = REMIT_FILE_MAKE,
					      .path = e->path };

	return restore_task(s, &make, err) < 0 && !exists_already(err) ? -1 : 0;
}

static int
restore_link(const struct restore *s, const struct snapshot_entry *e,
	     struct remit_error *err)
{
	const struct remit_file_task link = { .op = REMIT_FILE_LINK,
					      .path = e->path,
					      .to = e->target };
	const struct remit_file_task remove = { .op = REMIT_FILE_REMOVE,
						.path = e->path };

	if (restore_task(s, &link, err) == 0)
		return 0;
	if (!exists_already(err) || restore_task(s, &remove, err) < 0)
		return -1;
	return restore_task(s, &link, err);
}

static int
restore_entry(struct restore *s, const struct snapshot_entry *e,
	      struct remit_error *err)
{
	switch (e->type) {
	case SNAPSHOT_FILE:
		return restore_file(s, e, err);
	case SNAPSHOT_DIRECTORY:
		return restore_directory(s, e, err);
	case SNAPSHOT_LINK:
		return restore_link(s, e, err);
	case SNAPSHOT_SKIPPED:
		break;
	}
	return 0;
}

/* Set times and permissions of directories last, inner directories first: a
   directory's time changes with its contents, and its permissions may forbid
   new files. */
static int
restore_directories(struct restore *s, struct remit_error *err)
{
	struct snapshot_entry *all = NULL, e;
	size_t count = 0, n = 0;
	int more, failed = 0;

	snapshot_rewind(s->r);
	while ((more = snapshot_next(s->r, &e, err)) > 0)
		count += e.type == SNAPSHOT_DIRECTORY;
	if (more < 0)
		return -1;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		return fail_memory(err, "snapshot");
	snapshot_rewind(s->r);
	while (n < count && snapshot_next(s->r, &e, err) > 0)
		if (e.type == SNAPSHOT_DIRECTORY)
			all[n++] = e;
	while (n-- && !failed)
		failed = set_attributes(s, &all[n], err);
	free(all);
	return failed;
}

int
snapshot_restore(struct remit_session *session, struct snapshot_reader *r,
		 size_t piece, struct remit_error *err)
{
	struct restore s = { .session = session, .r = r };
	struct snapshot_entry e;
	int more;

	s.piece = piece && piece < PIECE ? piece : PIECE;
	snapshot_rewind(r);
	while ((more = snapshot_next(r, &e, err)) > 0)
		if (restore_entry(&s, &e, err) < 0)
			return fail_within(err, "restore the files");
	if (more < 0)
		return -1;
	return restore_directories(&s, err);
}
