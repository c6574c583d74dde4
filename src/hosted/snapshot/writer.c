#include "hosted/snapshot/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file/io.h"
#include "base/number.h"
#include "hosted/hosted.h"
#include "hosted/snapshot/part.h"
#include "wire/record.h"

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define CREATE	       (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
/* The contents of the current file, until their digest is known. */
#define NEW_FILE "new"
/* The memory for a byte of the manifest, and how much is charged at once. */
#define LIST_FACTOR 4
#define LIST_PIECE  ((uint64_t)256 * 1024)
/* How many of those that are left out are remembered by name. */
#define SKIPPED_MAX 20

struct snapshot_writer {
	struct snapshot_store *store;
	struct snapshot_owner *owner;
	char temporary[SNAPSHOT_ID_SIZE + 8]; /* its directory's name */
	int parent, directory, objects;
	struct buf manifest;
	uint64_t charged_bytes; /* for the manifest and the text */
	uint64_t list_bytes;	/* charged for the memory of the manifest */
	uint64_t entries, bytes;
	struct list skipped;
	/* ---- the current file ---- */
	int file;
	uint64_t file_bytes, file_charged_bytes;
	struct sha256 digest;
};

/* ---- failures ---- */

/* A full disk is busy like a full share: both may have space later. */
static int
fail_write(struct remit_error *err)
{
	bool is_full = errno == ENOSPC || errno == EDQUOT;

	return fail_sys(err, is_full ? REMIT_E_BUSY : REMIT_E_KERNEL,
			"write a snapshot to disk");
}

/* ---- opening ---- */

/* Counts the snapshot against the owner's limit. */
static int
begin_writing(struct snapshot_store *s, struct snapshot_owner *o,
	      struct remit_error *err)
{
	uint64_t count;
	bool may;

	pthread_mutex_lock(&s->lock);
	count = o->writing;
	for (const struct stored *one = s->first; one; one = one->next)
		count += one->owner == o;
	may = count < s->opt.max_owner_count;
	o->writing += may;
	pthread_mutex_unlock(&s->lock);
	return may ? 0
		   : fail(err, REMIT_E_BUSY,
			  "this key has %llu snapshots and paused sandboxes, "
			  "as many as it may have: delete some",
			  (unsigned long long)count);
}

static void
end_writing(struct snapshot_writer *w)
{
	pthread_mutex_lock(&w->store->lock);
	w->owner->writing--;
	pthread_mutex_unlock(&w->store->lock);
}

static int
make_directory(struct snapshot_writer *w, struct remit_error *err)
{
	char id[HOSTED_ID_SIZE];

	if (hosted_make_id(id, err) < 0)
		return -1;
	snprintf(w->temporary, sizeof(w->temporary), ".new-%s", id);
	w->parent = snapshot_owner_open(w->store, w->owner);
	if (w->parent < 0 || mkdirat(w->parent, w->temporary, 0700) < 0)
		return fail_write(err);
	w->directory = openat(w->parent, w->temporary, OPEN_DIRECTORY);
	w->objects = openat(w->parent, "objects", OPEN_DIRECTORY);
	if (w->directory < 0 || w->objects < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"open the directory of a snapshot");
	return 0;
}

int
snapshot_writer_open(struct snapshot_writer **out, struct snapshot_store *s,
		     const char *owner, struct remit_error *err)
{
	struct snapshot_owner *o = snapshot_owner_find(s, owner);
	struct snapshot_writer *w = calloc(1, sizeof(*w));

	if (!w || !o) {
		free(w);
		return fail_memory(err, "snapshot");
	}
	*w = (struct snapshot_writer){
		.store = s,
		.owner = o,
		.parent = -1,
		.directory = -1,
		.objects = -1,
		.manifest = BUF_INIT(MANIFEST_MAX),
		.file = -1,
	};
	if (begin_writing(s, o, err) < 0) {
		free(w);
		return -1;
	}
	if (make_directory(w, err) < 0) {
		snapshot_writer_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void
snapshot_writer_free(struct snapshot_writer *w)
{
	if (!w)
		return;
	/* After a commit the directory has another name. */
	if (w->temporary[0])
		snapshot_drop_directory(w->store, w->owner, w->temporary);
	snapshot_refund(w->store, w->owner,
			w->charged_bytes + w->file_charged_bytes);
	snapshot_list_refund(w->store, w->owner, w->list_bytes);
	end_writing(w);
	own_fd_close(&w->file);
	own_fd_close(&w->objects);
	own_fd_close(&w->directory);
	own_fd_close(&w->parent);
	buf_free(&w->manifest);
	list_free(&w->skipped);
	free(w);
}

const struct list *
snapshot_skipped(const struct snapshot_writer *w)
{
	return &w->skipped;
}

/* ---- limits ---- */

static int
charge(struct snapshot_writer *w, uint64_t *sum, uint64_t bytes,
       struct remit_error *err)
{
	if (!snapshot_charge(w->store, w->owner, bytes))
		return fail(err, REMIT_E_BUSY,
			    "the snapshots and paused sandboxes of this key "
			    "take as much of the server's disk as they may: "
			    "delete some");
	*sum += bytes;
	return 0;
}

/* Charges the memory of an entry before it is used: for the manifest, whose
   space doubles when it is full, and for the path in the list of directories
   that wait. Charged in large pieces, since others compete for the lock. */
static int
charge_list(struct snapshot_writer *w, size_t len, struct remit_error *err)
{
	uint64_t needed = LIST_FACTOR * (w->manifest.len + len);

	if (needed <= w->list_bytes)
		return 0;
	needed += LIST_PIECE - w->list_bytes;
	if (snapshot_list_charge(w->store, w->owner, needed, err) < 0)
		return -1;
	w->list_bytes += needed;
	return 0;
}

/* ---- entries ---- */

static int
add_number(struct buf *b, const char *key, long long n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", n);
	return record_add(b, key, text);
}

/* Adds an entry to the manifest. `key` and `value` are what only its type has;
   the attributes may be NULL. */
static int
add_entry(struct snapshot_writer *w, const char *type, const char *path,
	  const char *key, const char *value,
	  const struct snapshot_attributes *a, struct remit_error *err)
{
	struct buf *m = &w->manifest;
	size_t before = m->len;
	size_t len = strlen(path) + (key ? strlen(value) : 0);

	if (charge_list(w, len + ENTRY_BYTES, err) < 0)
		return -1;
	if (record_add(m, "type", type) < 0 ||
	    record_add(m, "path", path) < 0 ||
	    (key && record_add(m, key, value) < 0) ||
	    (a && (add_number(m, "mode", a->mode & 0777) < 0 ||
		   add_number(m, "modified", a->modified_ns) < 0)) ||
	    (!strcmp(type, "file") &&
	     add_number(m, "size", (long long)w->file_bytes) < 0))
		return errno == EFBIG
			       ? fail(err, REMIT_E_INPUT,
				      "the names of all files together are "
				      "longer than a snapshot can have (%zu "
				      "MiB)",
				      MANIFEST_MAX >> 20)
			       : fail_memory(err, "snapshot");
	w->entries++;
	return charge(w, &w->charged_bytes, m->len - before + ENTRY_BYTES, err);
}

int
snapshot_add_directory(struct snapshot_writer *w, const char *path,
		       const struct snapshot_attributes *a,
		       struct remit_error *err)
{
	return add_entry(w, "directory", path, NULL, NULL, a, err);
}

int
snapshot_add_link(struct snapshot_writer *w, const char *path,
		  const char *target, struct remit_error *err)
{
	return add_entry(w, "link", path, "target", target, NULL, err);
}

int
snapshot_add_skipped(struct snapshot_writer *w, const char *path,
		     const char *reason, struct remit_error *err)
{
	own_mem char *line = NULL;

	if (w->skipped.count < SKIPPED_MAX &&
	    (asprintf(&line, "%s: %s", path, reason) < 0 ||
	     list_add(&w->skipped, line) < 0))
		return fail_memory(err, "snapshot");
	return add_entry(w, "skipped", path, "reason", reason, NULL, err);
}

/* ---- files ---- */

int
snapshot_begin_file(struct snapshot_writer *w, struct remit_error *err)
{
	w->digest = (struct sha256)SHA256_INIT;
	w->file_bytes = 0;
	w->file = openat(w->directory, NEW_FILE, CREATE, 0400);
	if (w->file < 0)
		return fail_write(err);
	return charge(w, &w->file_charged_bytes, snapshot_object_cost(0), err);
}

int
snapshot_add_bytes(struct snapshot_writer *w, const char *bytes, size_t len,
		   struct remit_error *err)
{
	/* Charged before they take space. */
	if (charge(w, &w->file_charged_bytes, len, err) < 0)
		return -1;
	if (io_write_all(w->file, bytes, len) < 0)
		return fail_write(err);
	sha256_add(&w->digest, bytes, len);
	w->file_bytes += len;
	return 0;
}

void
snapshot_discard_file(struct snapshot_writer *w)
{
	own_fd_close(&w->file);
	w->file = -1;
	unlinkat(w->directory, NEW_FILE, 0);
	snapshot_refund(w->store, w->owner, w->file_charged_bytes);
	w->file_charged_bytes = 0;
}

/* Links the object with this digest into the snapshot, if it exists. Returns 1
   if it does not. An object of another length was damaged: the caller replaces
   it. */
static int
use_object(const struct snapshot_writer *w, const char *sum)
{
	struct stat st;

	if (fstatat(w->directory, sum, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (fstatat(w->objects, sum, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : -1;
	if ((uint64_t)st.st_size != w->file_bytes)
		return unlinkat(w->objects, sum, 0) < 0 ? -1 : 1;
	return linkat(w->objects, sum, w->directory, sum, 0);
}

/* Returns whether the object is new, or -1 with errno. */
static int
store_object(const struct snapshot_writer *w, const char *sum)
{
	int is_new = use_object(w, sum);

	if (is_new == 0)
		return unlinkat(w->directory, NEW_FILE, 0);
	if (is_new < 0 ||
	    linkat(w->directory, NEW_FILE, w->objects, sum, 0) < 0)
		return -1;
	if (renameat(w->directory, NEW_FILE, w->directory, sum) == 0)
		return 1;
	unlinkat(w->objects, sum, 0);
	return -1;
}

int
snapshot_end_file(struct snapshot_writer *w, const char *path,
		  const struct snapshot_attributes *a, struct remit_error *err)
{
	char sum[SHA256_TEXT];
	int stored, failed = close(w->file);

	w->file = -1;
	if (failed < 0)
		return fail_write(err);
	sha256_end(&w->digest, sum);
	pthread_mutex_lock(&w->owner->objects);
	stored = store_object(w, sum);
	pthread_mutex_unlock(&w->owner->objects);
	if (stored < 0)
		return fail_write(err);
	if (!stored) /* its bytes are charged already */
		snapshot_refund(w->store, w->owner, w->file_charged_bytes);
	w->file_charged_bytes = 0;
	w->bytes = number_add(w->bytes, w->file_bytes);
	return add_entry(w, "file", path, "sha256", sum, a, err);
}

/* ---- the end ---- */

static int
write_file(const struct snapshot_writer *w, const char *name, const char *text,
	   size_t len, struct remit_error *err)
{
	own_fd int fd = openat(w->directory, name, CREATE, 0400);

	if (fd < 0 || io_write_all(fd, text, len) < 0 || fsync(fd) < 0)
		return fail_write(err);
	return 0;
}

static int
write_head(const struct snapshot_writer *w, const struct snapshot_info *info,
	   const char *about, struct remit_error *err)
{
	own(buf) struct buf text = BUF_INIT(HEAD_MAX);
	struct snapshot_head h = { .info = *info };
	const struct buf *m = &w->manifest;

	if ((size_t)snprintf(h.owner, sizeof(h.owner), "%s", w->owner->name) >=
	    sizeof(h.owner))
		return fail(err, REMIT_E_INPUT, "the key's name is too long");
	sha256_text(buf_text(m), m->len, h.manifest_sum);
	sha256_text(about, strlen(about), h.about_sum);
	if (snapshot_head_write(&text, &h) < 0)
		return fail_memory(err, "snapshot");
	return write_file(w, "head", buf_text(&text), text.len, err);
}

static int
write_end(struct snapshot_writer *w, const struct snapshot_info *info,
	  const char *about, struct remit_error *err)
{
	const struct buf *m = &w->manifest;

	if (write_file(w, "manifest", buf_text(m), m->len, err) < 0 ||
	    write_file(w, "about", about, strlen(about), err) < 0)
		return -1;
	/* All objects must be on disk before the head names them. One call is
	   faster than one for each of thousands. */
	if (syncfs(w->directory) < 0)
		return fail_write(err);
	if (write_head(w, info, about, err) < 0)
		return -1;
	if (fsync(w->directory) < 0 ||
	    renameat(w->parent, w->temporary, w->parent, info->id) < 0)
		return fail_write(err);
	w->temporary[0] = '\0';
	return fsync(w->parent) < 0 ? fail_write(err) : 0;
}

int
snapshot_commit(struct snapshot_writer *w, struct snapshot_info *info,
		const char *about, struct remit_error *err)
{
	struct stored *one = calloc(1, sizeof(*one));
	struct timespec now;

	if (!one)
		return fail_memory(err, "snapshot");
	if (strlen(about) > SNAPSHOT_ABOUT_MAX) {
		free(one);
		return fail(err, REMIT_E_INPUT,
			    "the description of a snapshot can have at most "
			    "%zu KiB",
			    SNAPSHOT_ABOUT_MAX / 1024);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	info->created_ms =
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	info->expires_ms = number_add(info->created_ms, w->store->opt.keep_ms);
	info->entries = w->entries;
	info->bytes = w->bytes;
	if (charge(w, &w->charged_bytes, strlen(about), err) < 0 ||
	    write_end(w, info, about, err) < 0) {
		free(one);
		return -1;
	}
	one->owner = w->owner;
	one->info = *info;
	one->charged_bytes = w->charged_bytes;
	w->charged_bytes = 0;
	snapshot_store_add(w->store, one);
	return 0;
}
