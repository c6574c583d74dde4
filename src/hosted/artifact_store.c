#include "hosted/artifact_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/loop.h"
#include "base/number.h"
#include "jail/mount/sweep.h"

/* Counted for each name, so that empty files are not free. */
#define ENTRY_BYTES 4096
#define PREFIX	    "remit-artifact-store-"
/* Until a new directory is locked, another server may remove it as a
   leftover. */
#define DIRECTORY_TRIES 16

/* The files of one hosted session, kept or being written. */
struct kept {
	struct kept *next;
	struct store_owner *owner;
	char *id;
	uint64_t bytes, until_us;
};

/* Never freed before the store: there are only as many as keys. */
struct store_owner {
	struct store_owner *next;
	char *name;
	uint64_t bytes;	    /* kept, or being written */
	struct kept *first; /* older ones first */
};

struct artifact_store {
	char *path;
	int directory; /* locked while in use */
	uint64_t keep_us, max_bytes, max_owner_bytes;
	pthread_mutex_t lock; /* for the members below */
	struct store_owner *owners;
	struct kept *writing;
	uint64_t bytes;
};

/* ---- the directory ---- */

/* A killed server left its directory unlocked; a running one holds the lock. */
static void
sweep_leftovers(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		own_fd int fd = -1;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		fd = openat(dirfd(dir), e->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		    flock(fd, LOCK_EX | LOCK_NB) == 0 && sweep(fd) == 0)
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

/* Returns 1 if another server removed the directory before it was locked. */
static int
try_directory(struct artifact_store *s, const char *parent,
	      struct remit_error *err)
{
	struct stat st;

	free(s->path);
	own_fd_close(&s->directory);
	s->directory = -1;
	if (asprintf(&s->path, "%s/" PREFIX "XXXXXX", parent) < 0) {
		s->path = NULL;
		return fail_memory(err, "artifacts");
	}
	if (!mkdtemp(s->path))
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", s->path);
	s->directory = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->directory < 0 && errno != ENOENT)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", s->path);
	return s->directory < 0 || flock(s->directory, LOCK_EX | LOCK_NB) < 0 ||
	       fstat(s->directory, &st) < 0 || !st.st_nlink;
}

static int
make_directory(struct artifact_store *s, const char *parent,
	       struct remit_error *err)
{
	int failed = 1;

	sweep_leftovers(parent);
	for (int i = 0; failed == 1 && i < DIRECTORY_TRIES; i++)
		failed = try_directory(s, parent, err);
	if (failed == 1)
		return fail(err, REMIT_E_KERNEL, "%s: cannot be locked",
			    s->path);
	return failed;
}

int
artifact_store_open(struct artifact_store **out,
		    const struct artifact_store_options *opt,
		    struct remit_error *err)
{
	struct artifact_store *s = calloc(1, sizeof(*s));

	if (!s)
		return fail_memory(err, "artifacts");
	*s = (struct artifact_store){
		.directory = -1,
		.keep_us = opt->keep_ms * 1000,
		.max_bytes = opt->max_bytes,
		.max_owner_bytes = opt->max_owner_bytes,
	};
	pthread_mutex_init(&s->lock, NULL);
	if (make_directory(s, opt->parent, err) < 0) {
		artifact_store_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static void
remove_hosted(const struct artifact_store *s, const char *id)
{
	own_fd int fd = beneath_open(s->directory, id,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Files that cannot be removed now are removed with the whole store. */
	if (fd >= 0 && sweep(fd) == 0)
		unlinkat(s->directory, id, AT_REMOVEDIR);
}

/* ---- bytes of each owner; called with the lock held ---- */

static struct store_owner *
find_owner(struct artifact_store *s, const char *name)
{
	struct store_owner *o;

	for (o = s->owners; o; o = o->next)
		if (!strcmp(o->name, name))
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->name = strdup(name);
	if (!o->name) {
		free(o);
		return NULL;
	}
	o->next = s->owners;
	s->owners = o;
	return o;
}

static void
store_charge(struct artifact_store *s, struct kept *k, uint64_t bytes)
{
	s->bytes = s->bytes - k->bytes + bytes;
	k->owner->bytes = k->owner->bytes - k->bytes + bytes;
	k->bytes = bytes;
}

static void
kept_push(struct kept **list, struct kept *k)
{
	k->next = *list;
	*list = k;
}

/* Moves the owner's oldest files to the list of those to be removed. */
static bool
drop_oldest(struct artifact_store *s, struct store_owner *o,
	    struct kept **dropped)
{
	struct kept *k = o->first;

	if (!k)
		return false;
	o->first = k->next;
	store_charge(s, k, 0);
	kept_push(dropped, k);
	return true;
}

/* Returns the owner that would have the most bytes if `owner` had `bytes`
   more. */
static struct store_owner *
find_largest(struct artifact_store *s, struct store_owner *owner,
	     uint64_t bytes)
{
	struct store_owner *largest = owner;
	uint64_t most = owner->bytes + bytes;

	for (struct store_owner *o = s->owners; o; o = o->next)
		if (o->first && o->bytes > most) {
			largest = o;
			most = o->bytes;
		}
	return largest;
}

/* Evicts files until `bytes` fit: first the owner's own beyond its share, then
   those of larger owners. */
static bool
store_make_space(struct artifact_store *s, struct store_owner *o,
		 uint64_t bytes, struct kept **dropped)
{
	if (bytes > s->max_owner_bytes || bytes > s->max_bytes)
		return false;
	while (o->bytes + bytes > s->max_owner_bytes)
		if (!drop_oldest(s, o, dropped))
			return false;
	while (s->bytes + bytes > s->max_bytes)
		if (!drop_oldest(s, find_largest(s, o, bytes), dropped))
			return false;
	return true;
}

static struct kept *
find_writing(struct artifact_store *s, const char *owner, const char *id)
{
	struct store_owner *o = find_owner(s, owner);
	struct kept *k;

	for (k = s->writing; k; k = k->next)
		if (!strcmp(k->id, id))
			return k;
	k = o ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return NULL;
	k->owner = o;
	k->id = strdup(id);
	if (!k->id) {
		free(k);
		return NULL;
	}
	kept_push(&s->writing, k);
	return k;
}

static void
unlink_writing(struct artifact_store *s, const struct kept *k)
{
	struct kept **at = &s->writing;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
}

/* ---- removing; the lock is not held ---- */

static void
kept_free(struct kept *k)
{
	free(k->id);
	free(k);
}

static void
kept_remove_all(struct artifact_store *s, struct kept *list)
{
	while (list) {
		struct kept *k = list;

		list = k->next;
		remove_hosted(s, k->id);
		kept_free(k);
	}
}

void
artifact_store_free(struct artifact_store *s)
{
	struct store_owner *o;

	if (!s)
		return;
	while ((o = s->owners)) {
		s->owners = o->next;
		kept_remove_all(s, o->first);
		free(o->name);
		free(o);
	}
	kept_remove_all(s, s->writing);
	if (s->directory >= 0) {
		sweep(s->directory);
		close(s->directory);
	}
	if (s->path)
		rmdir(s->path);
	pthread_mutex_destroy(&s->lock);
	free(s->path);
	free(s);
}

char *
artifact_store_path(const struct artifact_store *s, const char *id)
{
	char *path;

	return asprintf(&path, "%s/%s", s->path, id) < 0 ? NULL : path;
}

/* ---- files being written, then kept ---- */

/* The size of the file, and an entry for it and for each directory above it. */
static uint64_t
file_cost(const char *path, uint64_t size_bytes)
{
	uint64_t names = 1;

	for (; *path; path++)
		names += *path == '/';
	return size_bytes > UINT64_MAX / 2 ? size_bytes
					   : size_bytes + names * ENTRY_BYTES;
}

bool
artifact_store_reserve(struct artifact_store *s, const char *owner,
		       const char *id, const char *path, uint64_t size_bytes)
{
	uint64_t bytes = file_cost(path, size_bytes);
	struct kept *dropped = NULL, *k;
	bool fits;

	pthread_mutex_lock(&s->lock);
	k = find_writing(s, owner, id);
	fits = k && store_make_space(s, k->owner, bytes, &dropped);
	if (fits)
		store_charge(s, k, k->bytes + bytes);
	pthread_mutex_unlock(&s->lock);
	kept_remove_all(s, dropped);
	return fits;
}

/* Adds up all files below a directory. The policy bounds their depth and
   number. */
static uint64_t
count_bytes(int at, const char *name)
{
	int fd = beneath_open(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	if (!dir) {
		own_fd_close(&fd);
		return 0;
	}
	while ((e = readdir(dir))) {
		if (beneath_is_dots(e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes = number_add(bytes, ENTRY_BYTES);
		bytes = number_add(bytes, S_ISDIR(st.st_mode)
						  ? count_bytes(fd, e->d_name)
						  : (uint64_t)st.st_size);
	}
	closedir(dir);
	return bytes;
}

void
artifact_store_keep(struct artifact_store *s, const char *owner, const char *id)
{
	uint64_t bytes = count_bytes(s->directory, id);
	struct kept *dropped = NULL, *k, **end;

	pthread_mutex_lock(&s->lock);
	k = find_writing(s, owner, id);
	if (k) {
		unlink_writing(s, k);
		store_charge(s, k, 0);
		k->next = NULL;
		if (bytes && store_make_space(s, k->owner, bytes, &dropped)) {
			store_charge(s, k, bytes);
			k->until_us = loop_now_us() + s->keep_us;
			for (end = &k->owner->first; *end; end = &(*end)->next)
				;
			*end = k;
		} else {
			kept_push(&dropped, k);
		}
	}
	pthread_mutex_unlock(&s->lock);
	kept_remove_all(s, dropped);
	if (!k)
		remove_hosted(s, id);
}

void
artifact_store_discard(struct artifact_store *s, const char *owner,
		       const char *id)
{
	struct kept *k;

	pthread_mutex_lock(&s->lock);
	k = find_writing(s, owner, id);
	if (k) {
		unlink_writing(s, k);
		store_charge(s, k, 0);
	}
	pthread_mutex_unlock(&s->lock);
	remove_hosted(s, id);
	if (k)
		kept_free(k);
}

void
artifact_store_sweep(struct artifact_store *s)
{
	struct kept *dropped = NULL;
	uint64_t now = loop_now_us();

	pthread_mutex_lock(&s->lock);
	for (struct store_owner *o = s->owners; o; o = o->next)
		while (o->first && o->first->until_us <= now)
			drop_oldest(s, o, &dropped);
	pthread_mutex_unlock(&s->lock);
	kept_remove_all(s, dropped);
}

static int
open_regular(int directory, const char *id, const char *path)
{
	own_fd int hosted =
		beneath_open(directory, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own_fd int fd = -1;
	struct stat st;

	if (hosted < 0)
		return -1;
	fd = beneath_open(hosted, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENOENT;
		return -1;
	}
	return take_fd(&fd);
}

int
artifact_store_read(struct artifact_store *s, const char *owner, const char *id,
		    const char *path)
{
	const struct store_owner *o;
	const struct kept *k;
	int fd = -1;

	pthread_mutex_lock(&s->lock);
	o = find_owner(s, owner);
	for (k = o ? o->first : NULL; k; k = k->next)
		if (!strcmp(k->id, id))
			break;
	errno = ENOENT;
	if (k)
		fd = open_regular(s->directory, id, path);
	pthread_mutex_unlock(&s->lock);
	return fd;
}
