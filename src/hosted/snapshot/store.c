#include "hosted/snapshot/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file/beneath.h"
#include "base/number.h"
#include "hosted/snapshot/part.h"
#include "jail/mount/sweep.h"

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool
is_sum(const char *name)
{
	return strlen(name) == SHA256_TEXT - 1 &&
	       strspn(name, "0123456789abcdef") == SHA256_TEXT - 1;
}

static uint64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- owners and their bytes ---- */

static struct snapshot_owner *
owner_new(const char *name)
{
	struct snapshot_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->name = strdup(name);
	if (!o->name) {
		free(o);
		return NULL;
	}
	sha256_text(name, strlen(name), o->sum);
	pthread_mutex_init(&o->objects, NULL);
	return o;
}

struct snapshot_owner *
snapshot_owner_find(struct snapshot_store *s, const char *name)
{
	struct snapshot_owner *o;

	pthread_mutex_lock(&s->lock);
	for (o = s->owners; o && strcmp(o->name, name) != 0; o = o->next)
		;
	if (!o) {
		o = owner_new(name);
		if (o) {
			o->next = s->owners;
			s->owners = o;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return o;
}

int
snapshot_owner_open(const struct snapshot_store *s,
		    const struct snapshot_owner *o)
{
	own_fd int fd = -1;

	if (mkdirat(s->directory, o->sum, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(s->directory, o->sum, OPEN_DIRECTORY);
	if (fd < 0 || (mkdirat(fd, "objects", 0700) < 0 && errno != EEXIST))
		return -1;
	return take_fd(&fd);
}

uint64_t
snapshot_object_cost(uint64_t bytes)
{
	return number_add(bytes, OBJECT_BYTES);
}

bool
snapshot_charge(struct snapshot_store *s, struct snapshot_owner *o,
		uint64_t bytes)
{
	bool fits;

	pthread_mutex_lock(&s->lock);
	fits = number_add(o->bytes, bytes) <= s->opt.max_owner_bytes &&
	       number_add(s->bytes, bytes) <= s->opt.max_bytes;
	if (fits) {
		o->bytes += bytes;
		s->bytes += bytes;
	}
	pthread_mutex_unlock(&s->lock);
	return fits;
}

void
snapshot_refund(struct snapshot_store *s, struct snapshot_owner *o,
		uint64_t bytes)
{
	pthread_mutex_lock(&s->lock);
	o->bytes -= bytes;
	s->bytes -= bytes;
	pthread_mutex_unlock(&s->lock);
}

int
snapshot_list_charge(struct snapshot_store *s, struct snapshot_owner *o,
		     uint64_t bytes, struct remit_error *err)
{
	bool fits;

	pthread_mutex_lock(&s->lock);
	fits = number_add(o->list_bytes, bytes) <=
		       s->opt.max_owner_list_bytes &&
	       number_add(s->list_bytes, bytes) <= s->opt.max_list_bytes;
	if (fits) {
		o->list_bytes += bytes;
		s->list_bytes += bytes;
	}
	pthread_mutex_unlock(&s->lock);
	return fits ? 0
		    : fail(err, REMIT_E_BUSY,
			   "too many files are being stored or restored at the "
			   "same time: try again later");
}

void
snapshot_list_refund(struct snapshot_store *s, struct snapshot_owner *o,
		     uint64_t bytes)
{
	pthread_mutex_lock(&s->lock);
	o->list_bytes -= bytes;
	s->list_bytes -= bytes;
	pthread_mutex_unlock(&s->lock);
}

/* ---- removing ---- */

static void
remove_leftover(int owner, const char *name)
{
	own_fd int fd = openat(owner, name, OPEN_DIRECTORY);

	if (fd >= 0 && sweep(fd) == 0)
		unlinkat(owner, name, AT_REMOVEDIR);
	else if (fd < 0)
		unlinkat(owner, name, 0);
}

/* Removes one object's link, and the object if this was the last snapshot that
   uses it. */
static void
drop_object(struct snapshot_store *s, struct snapshot_owner *o, int owner,
	    int snapshot, const char *sum)
{
	own_fd int objects = openat(owner, "objects", OPEN_DIRECTORY);
	uint64_t cost = 0;
	struct stat st;

	pthread_mutex_lock(&o->objects);
	unlinkat(snapshot, sum, 0);
	if (objects >= 0 &&
	    fstatat(objects, sum, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_nlink == 1 && unlinkat(objects, sum, 0) == 0)
		cost = snapshot_object_cost((uint64_t)st.st_size);
	pthread_mutex_unlock(&o->objects);
	snapshot_refund(s, o, cost);
}

void
snapshot_drop_directory(struct snapshot_store *s, struct snapshot_owner *o,
			const char *name)
{
	own_fd int owner = openat(s->directory, o->sum, OPEN_DIRECTORY);
	int fd = owner < 0 ? -1 : openat(owner, name, OPEN_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		own_fd_close(&fd);
		return;
	}
	/* Remove the head first: without it, a restart removes the rest. */
	unlinkat(fd, "head", 0);
	while ((e = readdir(dir)))
		if (is_sum(e->d_name))
			drop_object(s, o, owner, fd, e->d_name);
	closedir(dir);
	remove_leftover(owner, name);
}

/* ---- opening ---- */

/* Adds a snapshot to the index. Called with the lock held, or by one thread. */
static void
index_add(struct snapshot_store *s, struct stored *new)
{
	struct stored **at = &s->first;

	while (*at && (*at)->info.created_ms > new->info.created_ms)
		at = &(*at)->next;
	new->next = *at;
	*at = new;
}

void
snapshot_store_add(struct snapshot_store *s, struct stored *one)
{
	pthread_mutex_lock(&s->lock);
	index_add(s, one);
	pthread_mutex_unlock(&s->lock);
}

static int
fail_count(const char *sum, struct remit_error *err)
{
	return fail_sys(err, REMIT_E_KERNEL, "count the files in %s/objects",
			sum);
}

/* Counts one object, or removes it if no snapshot uses it: a killed server left
   it. Returns -1 with errno. */
static int
count_object(int objects, const char *name, uint64_t *bytes)
{
	struct stat st;

	if (fstatat(objects, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (st.st_nlink <= 1 || !is_sum(name))
		return unlinkat(objects, name, 0);
	*bytes = number_add(*bytes, snapshot_object_cost((uint64_t)st.st_size));
	return 0;
}

/* Adds up the bytes of an owner's files, charged as objects. An object that
   cannot be counted would not be limited, so that is an error. */
static int
count_objects(int owner, const char *sum, uint64_t *bytes,
	      struct remit_error *err)
{
	int fd = openat(owner, "objects", OPEN_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int failed = 0;

	*bytes = 0;
	if (!dir) {
		own_fd_close(&fd);
		/* A killed server may have made the directory above only. */
		return fd < 0 && errno == ENOENT ? 0 : fail_count(sum, err);
	}
	while (!failed && (errno = 0, e = readdir(dir)))
		if (!beneath_is_dots(e->d_name) &&
		    count_object(fd, e->d_name, bytes) < 0)
			failed = fail_count(sum, err);
	if (!failed && errno)
		failed = fail_count(sum, err);
	closedir(dir);
	return failed;
}

static uint64_t
file_size(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : (uint64_t)st.st_size;
}

/* Returns 1 if a killed server left the directory incomplete. One with a head
   that cannot be read stays where it is: it may be repaired, or a newer version
   may have written it. */
static int
load_snapshot(struct snapshot_store *s, int owner, const char *sum,
	      const char *id, struct remit_error *err)
{
	own_fd int fd =
		snapshot_is_id(id) ? openat(owner, id, OPEN_DIRECTORY) : -1;
	struct snapshot_head h;
	struct stored *new;

	if (fd < 0 || faccessat(fd, "head", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 1;
	if (snapshot_head_read(&h, fd, err) < 0 || strcmp(h.info.id, id) != 0)
		return 0;
	new = calloc(1, sizeof(*new));
	if (new)
		new->owner = snapshot_owner_find(s, h.owner);
	if (!new || !new->owner) {
		free(new);
		return fail_memory(err, "snapshots");
	}
	if (strcmp(new->owner->sum, sum) != 0) {
		free(new);
		return 0;
	}
	new->info = h.info;
	new->charged_bytes =
		number_add(file_size(fd, "manifest"), file_size(fd, "about")) +
		h.info.entries *ENTRY_BYTES;
	new->owner->bytes += new->charged_bytes;
	s->bytes += new->charged_bytes;
	index_add(s, new);
	return 0;
}

static int
load_owner(struct snapshot_store *s, const char *sum, struct remit_error *err)
{
	int fd = openat(s->directory, sum, OPEN_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t bytes;
	int failed = 0;
	struct dirent *e;

	if (!dir) {
		own_fd_close(&fd);
		return fail_sys(err, REMIT_E_KERNEL, "read %s", sum);
	}
	while (failed >= 0 && (e = readdir(dir))) {
		if (beneath_is_dots(e->d_name) || !strcmp(e->d_name, "objects"))
			continue;
		failed = load_snapshot(s, fd, sum, e->d_name, err);
		if (failed == 1)
			remove_leftover(fd, e->d_name);
	}
	failed = failed < 0 ? -1 : count_objects(fd, sum, &bytes, err);
	closedir(dir);
	if (failed < 0)
		return -1;
	for (struct snapshot_owner *o = s->owners; o; o = o->next)
		if (!strcmp(o->sum, sum)) {
			o->bytes += bytes;
			s->bytes += bytes;
		}
	return 0;
}

static int
load_all(struct snapshot_store *s, struct remit_error *err)
{
	int fd = openat(s->directory, ".", OPEN_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int failed = 0;

	if (!dir) {
		own_fd_close(&fd);
		return fail_sys(err, REMIT_E_KERNEL, "read the snapshots");
	}
	while (!failed && (e = readdir(dir)))
		if (is_sum(e->d_name))
			failed = load_owner(s, e->d_name, err);
	closedir(dir);
	return failed;
}

/* Opens the directory "snapshots" of the parent, and locks it. */
static int
open_directory(struct snapshot_store *s, struct remit_error *err)
{
	const char *parent = s->opt.parent;
	own_fd int fd = -1;
	struct stat st;

	if (mkdir(parent, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_INPUT, "make %s", parent);
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_INPUT, "open %s", parent);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return fail(err, REMIT_E_INPUT,
			    "%s must belong to you and must not be writable by "
			    "other users",
			    parent);
	if (mkdirat(fd, "snapshots", 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_INPUT,
				"make the directory of snapshots in %s",
				parent);
	s->directory = openat(fd, "snapshots", OPEN_DIRECTORY);
	if (s->directory < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"open the directory of snapshots in %s",
				parent);
	if (flock(s->directory, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return fail_sys(err, REMIT_E_INPUT,
				"lock the directory of snapshots in %s",
				parent);
	return fail(err, REMIT_E_BUSY,
		    "another server uses %s: give each server its own "
		    "directory",
		    parent);
}

int
snapshot_store_open(struct snapshot_store **out,
		    const struct snapshot_store_options *opt,
		    struct remit_error *err)
{
	struct snapshot_store *s = calloc(1, sizeof(*s));

	if (!s)
		return fail_memory(err, "snapshots");
	s->directory = -1;
	s->opt = *opt;
	pthread_mutex_init(&s->lock, NULL);
	if (open_directory(s, err) < 0 || load_all(s, err) < 0) {
		snapshot_store_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
snapshot_store_free(struct snapshot_store *s)
{
	if (!s)
		return;
	while (s->first) {
		struct stored *one = s->first;

		s->first = one->next;
		free(one);
	}
	while (s->owners) {
		struct snapshot_owner *o = s->owners;

		s->owners = o->next;
		pthread_mutex_destroy(&o->objects);
		free(o->name);
		free(o);
	}
	own_fd_close(&s->directory);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- finding; called with the lock held ---- */

static bool
is_theirs(const struct stored *one, const char *owner, unsigned kinds)
{
	return one->info.kind & kinds && !strcmp(one->owner->name, owner) &&
	       one->info.expires_ms > wall_ms();
}

static struct stored **
find_id(struct snapshot_store *s, const char *owner, const char *id)
{
	struct stored **at;

	for (at = &s->first; *at; at = &(*at)->next)
		if (!strcmp((*at)->info.id, id) &&
		    !strcmp((*at)->owner->name, owner))
			break;
	return at;
}

bool
snapshot_store_find(struct snapshot_store *s, const char *owner, unsigned kinds,
		    const char *id_or_name, struct snapshot_info *out)
{
	const struct stored *one;

	pthread_mutex_lock(&s->lock);
	for (one = s->first; one; one = one->next)
		if (is_theirs(one, owner, kinds) && *id_or_name &&
		    (!strcmp(one->info.id, id_or_name) ||
		     !strcmp(one->info.name, id_or_name)))
			break;
	if (one)
		*out = one->info;
	pthread_mutex_unlock(&s->lock);
	return one;
}

int
snapshot_store_list(struct snapshot_store *s, const char *owner, unsigned kinds,
		    struct snapshot_info **out, size_t *count)
{
	struct snapshot_info *all;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (const struct stored *one = s->first; one; one = one->next)
		n += is_theirs(one, owner, kinds);
	all = calloc(n + 1, sizeof(*all));
	*count = 0;
	for (const struct stored *one = s->first; one && all; one = one->next)
		/* One may have expired since they were counted. */
		if (*count < n && is_theirs(one, owner, kinds))
			all[(*count)++] = one->info;
	pthread_mutex_unlock(&s->lock);
	*out = all;
	return all ? 0 : -1;
}

int
snapshot_store_about(struct snapshot_store *s, const char *owner,
		     const char *id, struct buf *out, struct remit_error *err)
{
	const struct snapshot_owner *o = snapshot_owner_find(s, owner);
	own_fd int parent = o ? snapshot_owner_open(s, o) : -1;
	own_fd int fd = parent < 0 || !snapshot_is_id(id)
				? -1
				: openat(parent, id, OPEN_DIRECTORY);
	struct snapshot_head h;

	if (fd < 0)
		return fail(err, REMIT_E_GONE, "no such snapshot: %.40s", id);
	if (snapshot_head_read(&h, fd, err) < 0)
		return -1;
	return snapshot_read_file(out, fd, "about", h.about_sum, err);
}

bool
snapshot_store_claim(struct snapshot_store *s, const char *owner,
		     const char *id)
{
	struct stored *one;
	bool may;

	pthread_mutex_lock(&s->lock);
	one = *find_id(s, owner, id);
	may = one && !one->is_claimed;
	if (may)
		one->is_claimed = true;
	pthread_mutex_unlock(&s->lock);
	return may;
}

void
snapshot_store_release(struct snapshot_store *s, const char *owner,
		       const char *id)
{
	struct stored *one;

	pthread_mutex_lock(&s->lock);
	one = *find_id(s, owner, id);
	if (one)
		one->is_claimed = false;
	pthread_mutex_unlock(&s->lock);
}

/* ---- removing from the index ---- */

/* The caller has unlinked it from the index. */
static void
remove_unlinked(struct snapshot_store *s, struct stored *one)
{
	snapshot_drop_directory(s, one->owner, one->info.id);
	snapshot_refund(s, one->owner, one->charged_bytes);
	free(one);
}

bool
snapshot_store_remove(struct snapshot_store *s, const char *owner,
		      const char *id)
{
	struct stored **at, *one;

	pthread_mutex_lock(&s->lock);
	at = find_id(s, owner, id);
	one = *at;
	if (one)
		*at = one->next;
	pthread_mutex_unlock(&s->lock);
	if (!one)
		return false;
	remove_unlinked(s, one);
	return true;
}

/* Called with the lock held. */
static struct stored **
find_expired(struct snapshot_store *s)
{
	uint64_t now = wall_ms();
	struct stored **at;

	for (at = &s->first; *at; at = &(*at)->next)
		if ((*at)->info.expires_ms <= now && !(*at)->is_claimed)
			break;
	return at;
}

bool
snapshot_store_has_expired(struct snapshot_store *s)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = *find_expired(s) != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void
snapshot_store_sweep(struct snapshot_store *s)
{
	struct stored **at, *one;

	do {
		pthread_mutex_lock(&s->lock);
		at = find_expired(s);
		one = *at;
		if (one)
			*at = one->next;
		pthread_mutex_unlock(&s->lock);
		if (one)
			remove_unlinked(s, one);
	} while (one);
}
