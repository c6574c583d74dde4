#include "keeper/packages/package_layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file/beneath.h"
#include "base/file/path.h"
#include "base/loop.h"
#include "base/number.h"
#include "jail/inside.h"
#include "jail/mount/sweep.h"
#include "wire/record.h"

/* ---- the store ---- */

static int
open_directory(int at, const char *name)
{
	return openat(at, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int
ensure_directory(int at, const char *name, struct remit_error *err)
{
	own_fd int fd = -1;
	struct stat st;

	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", name);
	fd = open_directory(at, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", name);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return fail(err, REMIT_E_KERNEL,
			    "%s must belong to you, and only you may be able "
			    "to write to it",
			    name);
	return take_fd(&fd);
}

int
package_layer_store(struct remit_error *err)
{
	own_mem char *cache = NULL;
	own_fd int fd = -1;

	if (path_cache_dir(&cache, err) < 0)
		return -1;
	fd = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", cache);
	return ensure_directory(fd, "packages", err);
}

int
package_layer_fail_store(struct remit_error *err)
{
	char why[sizeof(err->message)];

	memcpy(why, err->message, sizeof(why));
	return fail_refused(err, "packages", PATH_CACHE_REMEDY,
			    "packages are installed into the cache, which is "
			    "not usable: %.700s",
			    why);
}

int
package_layer_directory(const char *name, struct remit_error *err)
{
	own_fd int store = package_layer_store(err);
	int fd = store < 0 ? -1 : ensure_directory(store, name, err);

	return fd < 0 ? package_layer_fail_store(err) : fd;
}

int
package_layer_check_store(struct remit_error *err)
{
	own_fd int fd = package_layer_directory("new", err);

	if (fd < 0)
		return -1;
	if (faccessat(fd, ".", W_OK, AT_EACCESS) == 0)
		return 0;
	fail_sys(err, REMIT_E_KERNEL, "write to packages/new");
	return package_layer_fail_store(err);
}

/* Reads a small file completely. Returns -1 with errno set. */
static int
read_small(int at, const char *name, char *out, size_t size)
{
	own_fd int fd = openat(at, name,
			       O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (n < 0)
		return -1;
	out[n] = '\0';
	return 0;
}

int
package_layer_read_about(int directory, struct buf *out)
{
	own_fd int fd = openat(directory, "about",
			       O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct remit_error err;
	char piece[4096];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
		if (buf_add(out, piece, (size_t)n) < 0)
			return -1;
	if (n < 0 || !out->len)
		return -1;
	return record_check(out->data, out->len, &err);
}

int
package_layer_remove(int parent, const char *name)
{
	own_fd int fd = open_directory(parent, name);

	if (fd < 0 || sweep(fd) < 0)
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR);
}

static void
remove_abandoned(int at, const char *name)
{
	own_fd int fd = open_directory(at, name);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    package_layer_remove(at, name) < 0)
		errno = 0; /* The next call may be able to remove it. */
}

void
package_layer_clean(void)
{
	struct remit_error err;
	int at = package_layer_directory("new", &err);
	DIR *d = at < 0 ? NULL : fdopendir(at);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!beneath_is_dots(e->d_name))
			remove_abandoned(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	else
		own_fd_close(&at);
}

/* ---- finding ---- */

int
package_layer_wanted(const char *key, char id[SHA256_TEXT])
{
	struct remit_error err;
	own_fd int wants = package_layer_directory("wants", &err);
	char text[SHA256_TEXT + 1];

	if (wants < 0 || read_small(wants, key, text, sizeof(text)) < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	if (strspn(text, "0123456789abcdef") != SHA256_TEXT - 1 ||
	    text[SHA256_TEXT - 1])
		return -1;
	memcpy(id, text, SHA256_TEXT);
	return 0;
}

static bool
is_sealed(int directory)
{
	own_fd int site = open_directory(directory, "site");
	char made[SHA256_TEXT + 1], now[SHA256_TEXT];

	if (site < 0 || read_small(directory, "seal", made, sizeof(made)) < 0 ||
	    package_layer_seal(site, now) < 0)
		return false;
	return !strcmp(made, now);
}

/* Returns the number of files that were installed; UINT64_MAX if that is
   unknown. */
static uint64_t
count_files(int directory)
{
	own(buf) struct buf about = BUF_INIT(PACKAGE_LAYER_ABOUT_MAX);
	uint64_t files = UINT64_MAX;
	struct record r;
	size_t at = 0;

	if (package_layer_read_about(directory, &about) < 0)
		return UINT64_MAX;
	while (record_next(about.data, about.len, &at, &r))
		if (!strcmp(r.key, "files") &&
		    number_parse(&files, r.value) < 0)
			return UINT64_MAX;
	return files;
}

static bool
trust_has(const struct package_layer_trust *t, const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(t->rows); i++)
		if (!strcmp(t->rows[i].id, id))
			return loop_now_us() - t->rows[i].checked_us <
			       PACKAGE_LAYER_TRUST_US;
	return false;
}

/* Replaces the row of the same layer, or the oldest one. */
void
package_layer_trust_add(struct package_layer_trust *t, const char *id)
{
	size_t place = 0;

	for (size_t i = 0; i < ARRAY_LEN(t->rows); i++) {
		if (!strcmp(t->rows[i].id, id)) {
			place = i;
			break;
		}
		if (t->rows[i].checked_us < t->rows[place].checked_us)
			place = i;
	}
	snprintf(t->rows[place].id, sizeof(t->rows[place].id), "%s", id);
	t->rows[place].checked_us = loop_now_us();
}

/* A prune locks the layer exclusively while it removes it. */
static int
lock_shared(const char *id)
{
	struct remit_error err;
	own_fd int package_layers = package_layer_directory("layers", &err);
	own_fd int fd =
		package_layers < 0 ? -1 : open_directory(package_layers, id);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    !st.st_nlink)
		return -1;
	return take_fd(&fd);
}

/* Sets s->checked_us, or leaves it 0 if the keeper's thread must not check a
   layer of this size. Returns false if the layer was changed. */
static bool
check_found(struct package_layer *s, struct package_layer_trust *trust)
{
	if (trust && trust_has(trust, s->id)) {
		s->checked_us = loop_now_us();
		return true;
	}
	if (trust && s->files > PACKAGE_LAYER_SMALL_FILES)
		return true;
	if (!is_sealed(s->lock))
		return false;
	s->checked_us = loop_now_us();
	if (trust)
		package_layer_trust_add(trust, s->id);
	return true;
}

enum package_layer_state
package_layer_find(struct package_layer *out, const char *key,
		   struct package_layer_trust *trust)
{
	own_mem char *cache = NULL;
	struct remit_error err;
	struct package_layer s = PACKAGE_LAYER_INIT;

	if (package_layer_wanted(key, s.id) < 0 ||
	    path_cache_dir(&cache, &err) < 0)
		return PACKAGE_LAYER_ABSENT;
	s.lock = lock_shared(s.id);
	s.files = s.lock < 0 ? 0 : count_files(s.lock);
	if (s.lock < 0 || !check_found(&s, trust) ||
	    asprintf(&s.site, "%s/packages/layers/%s/site", cache, s.id) < 0) {
		own_fd_close(&s.lock);
		return PACKAGE_LAYER_ABSENT;
	}
	/* The time of the last use is only needed for pruning, so failures are
	   ignored. */
	if (utimensat(s.lock, "about", NULL, AT_SYMLINK_NOFOLLOW) < 0)
		errno = 0;
	*out = s;
	return s.checked_us ? PACKAGE_LAYER_WHOLE : PACKAGE_LAYER_UNCHECKED;
}

bool
package_layer_is_whole(struct package_layer *s)
{
	uint64_t now = loop_now_us();

	if (s->checked_us && now - s->checked_us < PACKAGE_LAYER_TRUST_US)
		return true;
	if (s->files > PACKAGE_LAYER_SMALL_FILES || !is_sealed(s->lock))
		return false;
	s->checked_us = now;
	return true;
}

bool
package_layer_is_same(const struct package_layer *a,
		      const struct package_layer *b)
{
	struct stat st_a, st_b;

	return !strcmp(a->id, b->id) && fstat(a->lock, &st_a) == 0 &&
	       fstat(b->lock, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
	       st_a.st_ino == st_b.st_ino;
}

void
package_layer_free(struct package_layer *s)
{
	own_fd_close(&s->lock);
	free(s->site);
	*s = (struct package_layer)PACKAGE_LAYER_INIT;
}

/* ---- showing ---- */

static bool
is_installed(const char *path)
{
	return strstr(path, "site-packages") || strstr(path, "dist-packages");
}

int
package_layer_show(const struct package_layer *s, bool is_bare,
		   struct interpreter *in, struct remit_error *err)
{
	own(list) struct list path = { 0 };
	bool done = false;
	int added = 0;

	in->package_layer = strdup(s->site);
	in->package_layer_inside = strdup(is_bare ? s->site : JAIL_PACKAGES);
	if (!in->package_layer || !in->package_layer_inside)
		return fail_memory(err, "packages");
	for (size_t i = 0; i <= in->sys_path.count && added == 0; i++) {
		const char *entry =
			i < in->sys_path.count ? in->sys_path.items[i] : NULL;

		if (!done && (!entry || is_installed(entry))) {
			added = list_add(&path, in->package_layer_inside);
			done = true;
		}
		if (entry && added == 0)
			added = list_add(&path, entry);
	}
	if (added < 0)
		return fail_memory(err, "packages");
	list_free(&in->sys_path);
	in->sys_path = path;
	path = (struct list){ 0 };
	return 0;
}

/* ---- locks and failures ---- */

/* Returns -1 with EWOULDBLOCK if another process has the lock, or has removed
   the file meanwhile. */
static int
try_lock(int at, const char *name)
{
	own_fd int fd = openat(at, name,
			       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!st.st_nlink) {
		errno = EWOULDBLOCK;
		return -1;
	}
	return take_fd(&fd);
}

int
package_layer_lock(const char *key, uint64_t timeout_ms,
		   struct remit_error *err)
{
	static const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	uint64_t end = loop_now_us() + timeout_ms * 1000;
	own_fd int locks = package_layer_directory("locks", err);
	int fd;

	if (locks < 0)
		return -1;
	while ((fd = try_lock(locks, key)) < 0 && errno == EWOULDBLOCK &&
	       loop_now_us() < end)
		nanosleep(&pause, NULL);
	if (fd >= 0)
		return fd;
	if (errno != EWOULDBLOCK)
		return fail_sys(err, REMIT_E_KERNEL, "lock for packages");
	return fail(err, REMIT_E_BUSY,
		    "another keeper is installing the same packages and takes "
		    "longer than package_time allows");
}

/* Returns the age of a file in seconds; -1 if it does not exist. */
static double
age_of(int at, const char *name)
{
	struct timespec now;
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	clock_gettime(CLOCK_REALTIME, &now);
	return (double)(now.tv_sec - st.st_mtim.tv_sec) +
	       (double)(now.tv_nsec - st.st_mtim.tv_nsec) / 1e9;
}

bool
package_layer_failure(const char *key, struct remit_error *out)
{
	struct remit_error err;
	own_fd int failed = package_layer_directory("failed", &err);
	/* message NUL remedy */
	char text[sizeof(out->message) + sizeof(out->remedy) + 1] = "";
	double age = failed < 0 ? -1 : age_of(failed, key);

	if (age < 0 || age > PACKAGE_LAYER_FAILURE_S ||
	    read_small(failed, key, text, sizeof(text) - 1) < 0)
		return false;
	fail(out, REMIT_E_INSTALL, "%.900s (attempted less than a minute ago)",
	     text);
	snprintf(out->where, sizeof(out->where), "packages");
	/* The remedy follows the NUL of the message, which always exists. */
	snprintf(out->remedy, sizeof(out->remedy), "%.511s",
		 text + strnlen(text, sizeof(text) - 1) + 1);
	return true;
}

void
package_layer_remember_failure(const char *key, const struct remit_error *e)
{
	struct remit_error err;
	own_fd int failed = package_layer_directory("failed", &err);
	own_fd int fd = -1;

	if (failed < 0)
		return; /* then it is tried again */
	fd = openat(failed, key,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd >= 0 && (write(fd, e->message, strlen(e->message) + 1) < 0 ||
			write(fd, e->remedy, strlen(e->remedy)) < 0))
		unlinkat(failed, key, 0);
}
