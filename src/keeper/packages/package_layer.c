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
#include "jail/inside.h"
#include "jail/mount/sweep.h"

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

static int
open_store(struct remit_error *err)
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
	own_fd int store = open_store(err);
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

static bool
trust_has(const struct package_layer_trust *t, const char *id)
{
	for (size_t i = 0; t && i < ARRAY_LEN(t->rows); i++)
		if (!strcmp(t->rows[i].id, id))
			return loop_now_us() - t->rows[i].checked_us <
			       PACKAGE_LAYER_TRUST_US;
	return false;
}

/* Replaces the row of the same layer, or the oldest one. */
static void
trust_add(struct package_layer_trust *t, const char *id, uint64_t now_us)
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
	memcpy(t->rows[place].id, id, SHA256_TEXT);
	t->rows[place].checked_us = now_us;
}

/* A prune locks the layer exclusively while it removes it. */
static int
lock_shared(const char *id)
{
	struct remit_error err;
	own_fd int package_layers = package_layer_directory("shelves", &err);
	own_fd int fd =
		package_layers < 0 ? -1 : open_directory(package_layers, id);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    !st.st_nlink)
		return -1;
	return take_fd(&fd);
}

bool
package_layer_find(struct package_layer *out, const char *key,
		   struct package_layer_trust *trust)
{
	bool trusted;
	own_mem char *cache = NULL;
	struct remit_error err;
	struct package_layer s = PACKAGE_LAYER_INIT;

	if (package_layer_wanted(key, s.id) < 0 ||
	    path_cache_dir(&cache, &err) < 0)
		return false;
	s.lock = lock_shared(s.id);
	trusted = trust_has(trust, s.id);
	if (s.lock < 0 || (!trusted && !is_sealed(s.lock)) ||
	    asprintf(&s.site, "%s/packages/shelves/%s/site", cache, s.id) < 0) {
		own_fd_close(&s.lock);
		return false;
	}
	/* The time of the last use is only needed for pruning, so failures are
	   ignored. */
	if (utimensat(s.lock, "about", NULL, AT_SYMLINK_NOFOLLOW) < 0)
		errno = 0;
	s.checked_us = loop_now_us();
	if (trust && !trusted)
		trust_add(trust, s.id, s.checked_us);
	*out = s;
	return true;
}

bool
package_layer_is_whole(struct package_layer *s)
{
	uint64_t now = loop_now_us();

	if (now - s->checked_us < PACKAGE_LAYER_TRUST_US)
		return true;
	if (!is_sealed(s->lock))
		return false;
	s->checked_us = now;
	return true;
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
		return fail_sys(err, REMIT_E_MEMORY, "packages");
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
		return fail_sys(err, REMIT_E_MEMORY, "packages");
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

/* ---- seals ---- */

#define DEPTH_MAX 64
#define COUNT_MAX 500000

struct walk {
	struct sha256 sum;
	unsigned count;
	bool seals_directories; /* make directories read-only as well */
};

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_name(const struct dirent *e)
{
	return !beneath_is_dots(e->d_name);
}

static void
walk_add(struct walk *w, const char *name, const struct stat *st)
{
	const uint64_t facts[] = {
		st->st_mode,
		S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};

	sha256_add(&w->sum, name, strlen(name) + 1);
	sha256_add(&w->sum, facts, sizeof(facts));
}

static int walk_directory(struct walk *w, int directory, const char *name,
			  unsigned depth);

static int
walk_name(struct walk *w, int directory, const char *name, unsigned depth)
{
	own_fd int below = -1;
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		walk_add(w, name, &st);
		return 0;
	}
	below = openat(directory, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return below < 0 ? -1 : walk_directory(w, below, name, depth + 1);
}

static int
walk_directory(struct walk *w, int directory, const char *name, unsigned depth)
{
	struct dirent **all = NULL;
	struct stat st;
	int n, failed = 0;

	if (depth > DEPTH_MAX || w->count > COUNT_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (w->seals_directories && fchmod(directory, 0555) < 0)
		return -1;
	n = scandirat(directory, ".", &all, is_name, by_name);
	if (n < 0 || fstat(directory, &st) < 0)
		failed = -1;
	else
		walk_add(w, name, &st);
	for (int i = 0; i < n; i++) {
		w->count++;
		if (!failed)
			failed = walk_name(w, directory, all[i]->d_name, depth);
		free(all[i]);
	}
	free(all);
	/* Mark the end of a directory, so that "a/b, c" and "a, b, c" have
	   different sums. */
	sha256_add(&w->sum, "/", 1);
	return failed;
}

int
package_layer_seal(int directory, char out[SHA256_TEXT])
{
	struct walk w = { .sum = SHA256_INIT };

	if (walk_directory(&w, directory, "", 0) < 0)
		return -1;
	sha256_end(&w.sum, out);
	return 0;
}

int
package_layer_seal_directories(int directory)
{
	struct walk w = { .sum = SHA256_INIT, .seals_directories = true };

	return walk_directory(&w, directory, "", 0);
}
