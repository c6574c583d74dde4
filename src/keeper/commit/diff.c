#include "keeper/commit/diff.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/file/beneath.h"
#include "base/file/path.h"
#include "keeper/commit/protected.h"

#define OPAQUE "user.overlay.opaque"
#define ORIGIN "user.overlay.origin"

#define BY_OTHERS  "changed by others during the run"
#define MOVED	   "its folder was changed by others during the run"
#define CLOCK	   "the clock was set back during the run"
#define GONE	   "deleted by others during the run"
#define GUARDED	   "the interpreter or Remit is installed there"
#define VENV	   "a virtual environment"
#define PROTECTED  "a protected name (--commit-name allows it)"
#define REPOSITORY "a git repository (--commit-name allows it)"
#define UNREADABLE "reading it failed"
#define HOST_OTHER "the host has something else at this path"
#define TOO_LONG   "a path in it is too long"
#define TOO_DEEP   "more than 64 levels of folders"

/* A directory in the overlay and its counterpart on the host. */
struct place {
	DIR *upper;
	int host;	     /* the counterpart, or -1 */
	struct stat was;     /* state of the counterpart */
	bool may_be_another; /* others may have put another directory in its
				place */
	bool repository;     /* everything below it is protected */
	size_t depth;
	size_t path_len;
};

struct walk {
	struct diff *s;
	char path[PLAIN_PATH_SIZE];
};

static DIR *
open_directory(int at, const char *name)
{
	own_fd int fd = beneath_open(at, name, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		take_fd(&fd);
	return d;
}

/* ---- guarded paths ---- */

/* A path is guarded if it lies in a guarded path, or contains one: replacing a
   directory replaces everything below it. */
static bool
is_guarded(const struct diff *s, const char *path)
{
	char whole[PLAIN_PATH_SIZE + PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", s->path, path);
	for (size_t i = 0; i < s->guarded.count; i++)
		if (path_lies_in(whole, s->guarded.items[i]))
			return true;
	return false;
}

static bool
contains_guarded(const struct diff *s, const char *path)
{
	char whole[PLAIN_PATH_SIZE + PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", s->path, path);
	for (size_t i = 0; i < s->guarded.count; i++)
		if (path_lies_in(s->guarded.items[i], whole))
			return true;
	return false;
}

/* ---- changes by others ---- */

static const char *
check_times(const struct diff *s, const char *path, const struct stat *st)
{
	if (ctime_mark_is_void(&s->since))
		return CLOCK;
	if (!ctime_mark_is_since(&s->since, &st->st_ctim) ||
	    commit_state_is(s->prior, s->root, path, st))
		return NULL;
	return BY_OTHERS;
}

/* Checks everything below a directory that would be removed. Moving a directory
   changes its own ctime, but something added to it shows in the ctime of its
   contents. */
static const char *
check_contents(const struct diff *s, int at, const char *name, char *path,
	       size_t len, size_t depth)
{
	DIR *d = open_directory(at, name);
	const char *why = d ? NULL : UNREADABLE;
	struct dirent *e;
	struct stat st;

	while (!why && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (beneath_is_dots(e->d_name))
			continue;
		if (len + n + 2 > PLAIN_PATH_SIZE || depth >= DIFF_DEPTH_MAX) {
			why = TOO_DEEP;
			break;
		}
		snprintf(path + len, PLAIN_PATH_SIZE - len, "/%s", e->d_name);
		why = fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
			      ? BY_OTHERS
			      : check_times(s, path, &st);
		if (why)
			break;
		if (s->filters && protected_path(path, &s->allowed))
			why = "it contains a protected name (--commit-name "
			      "allows it)";
		else if (s->filters && is_guarded(s, path))
			why = GUARDED;
		else if (S_ISDIR(st.st_mode))
			why = check_contents(s, dirfd(d), e->d_name, path,
					     len + n + 1, depth + 1);
	}
	if (d)
		closedir(d);
	path[len] = '\0';
	return why;
}

const char *
diff_check_removal(const struct diff *s, int at, const char *name,
		   const char *path)
{
	char below[PLAIN_PATH_SIZE];
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return BY_OTHERS;
	if (!S_ISDIR(st.st_mode))
		return NULL;
	/* If our commit wrote to the directory, only its contents can show
	   changes by others. */
	if (ctime_mark_is_since(&s->since, &st.st_mtim) &&
	    !commit_state_is(s->prior, s->root, path, &st))
		return BY_OTHERS;
	if (s->filters && contains_guarded(s, path))
		return GUARDED;
	snprintf(below, sizeof(below), "%s", path);
	return check_contents(s, at, name, below, strlen(below), 0);
}

/* ---- one path ---- */

/* Checks that the host's file is the one that the code has seen. */
static const char *
check_host(const struct walk *w, const struct place *p, const char *name,
	   const struct change *c)
{
	const char *why = check_times(w->s, w->path, &c->seen);

	if (!why && p->may_be_another)
		why = MOVED;
	if (!why && S_ISDIR(c->seen.st_mode) &&
	    (!c->is_directory || c->kind == CHANGE_DELETED))
		why = diff_check_removal(w->s, p->host, name, w->path);
	return why;
}

static struct change *
diff_add(struct walk *w, const struct place *p, enum change_kind kind,
	 const struct stat *had)
{
	struct change *c = changes_add(&w->s->changes, w->path, kind);

	if (c && p->host >= 0)
		c->in = p->was;
	if (c && had) {
		c->had = true;
		c->seen = *had;
	}
	return c;
}

static int
diff_skip(struct walk *w, enum change_kind kind, bool directory,
	  const char *why, struct remit_error *err)
{
	struct change *c = changes_add(&w->s->changes, w->path, kind);

	if (!c)
		return fail_memory(err, "changes");
	c->is_directory = directory;
	c->reason = why;
	return 0;
}

/* A file is writable for others only if the host's file was. */
static mode_t
mode_of(const struct stat *st, const struct stat *had)
{
	mode_t open_to_all = had ? had->st_mode & S_IWOTH : 0;

	return (st->st_mode & 0777 & ~S_IWOTH) | (st->st_mode & open_to_all);
}

/* Returns true if the kernel has copied it up from the host: a directory
   existed there at the start; a file did too, or was moved from there. */
static bool
was_there(int fd)
{
	return fgetxattr(fd, ORIGIN, NULL, 0) >= 0;
}

/* Consider both trees, since the host will have the names of both. */
static bool
is_repository(const struct place *p, const char *name)
{
	return protected_is_repository(dirfd(p->upper), p->host, name);
}

static const char *
check_protected(const struct walk *w, const struct place *p, bool directory)
{
	const struct list *allowed = &w->s->allowed;

	if (p->repository && !protected_is_named(w->path, directory, allowed))
		return REPOSITORY;
	if (directory ? protected_directory(w->path, allowed)
		      : protected_path(w->path, allowed))
		return PROTECTED;
	return NULL;
}

/* ---- deletions ---- */

static int
diff_removed(struct walk *w, const struct place *p, const char *name,
	     const struct stat *had, struct remit_error *err)
{
	const char *why = w->s->filters ? check_protected(w, p, false) : NULL;
	struct change *c;

	if (why)
		return diff_skip(w, CHANGE_DELETED, S_ISDIR(had->st_mode), why,
				 err);
	if (w->s->filters &&
	    (is_guarded(w->s, w->path) || contains_guarded(w->s, w->path)))
		return diff_skip(w, CHANGE_DELETED, S_ISDIR(had->st_mode),
				 GUARDED, err);
	c = diff_add(w, p, CHANGE_DELETED, had);
	if (!c)
		return fail_memory(err, "changes");
	c->is_directory = S_ISDIR(had->st_mode);
	c->reason = check_host(w, p, name, c);
	return 0;
}

/* ---- files ---- */

/* Returns true if the file was opened for writing, and so copied up, but has
   not changed. */
static bool
is_same(const struct place *p, const char *name, int fd, const struct stat *st,
	const struct stat *had)
{
	own_fd int host = -1;
	char a[16384], b[sizeof(a)];
	ssize_t n, m;

	if (!S_ISREG(had->st_mode) || had->st_size != st->st_size ||
	    (had->st_mode & 07777) != mode_of(st, had) ||
	    had->st_mtim.tv_sec != st->st_mtim.tv_sec ||
	    had->st_mtim.tv_nsec != st->st_mtim.tv_nsec)
		return false;
	host = beneath_open(p->host, name, O_RDONLY);
	if (host < 0)
		return false;
	do {
		n = read(fd, a, sizeof(a));
		m = n > 0 ? read(host, b, (size_t)n) : 0;
		if (n < 0 || (n > 0 && (m != n || memcmp(a, b, (size_t)n))))
			return false;
	} while (n > 0);
	return true;
}

static const char *
check_file(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return "a symbolic link";
	if (!S_ISREG(st->st_mode))
		return "not a regular file";
	if (st->st_nlink != 1)
		return "more than one name (hard links)";
	if (st->st_mode & (S_ISUID | S_ISGID | S_ISVTX))
		return "a setuid, setgid or sticky bit";
	return NULL;
}

/* A tool that uses the environment executes files in it. */
static bool
is_venv(int at, const char *name)
{
	char path[NAME_MAX + sizeof("/pyvenv.cfg")];

	snprintf(path, sizeof(path), "%s/pyvenv.cfg", name);
	return at >= 0 && faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static const char *
check_name(const struct walk *w, const struct place *p, const char *name,
	   bool directory)
{
	if (!plain_name(name))
		return "the name has characters that are not allowed";
	if (is_guarded(w->s, w->path))
		return GUARDED;
	return check_protected(w, p, directory);
}

static const char *
check_directory(const struct walk *w, const struct place *p, const char *name)
{
	const char *why = check_name(w, p, name, true);

	if (!why && (is_venv(dirfd(p->upper), name) || is_venv(p->host, name)))
		why = VENV;
	if (!why && is_repository(p, name) &&
	    !protected_is_named(w->path, true, &w->s->allowed))
		why = REPOSITORY;
	return why;
}

static int
diff_file(struct walk *w, const struct place *p, const char *name,
	  const struct stat *st, const struct stat *had,
	  struct remit_error *err)
{
	enum change_kind kind = had ? CHANGE_MODIFIED : CHANGE_CREATED;
	const char *why = w->s->filters ? check_name(w, p, name, false) : NULL;
	own_fd int fd = -1;
	struct change *c;

	if (!why)
		why = w->s->filters || !S_ISREG(st->st_mode) ? check_file(st)
							     : NULL;
	fd = beneath_open(dirfd(p->upper), name, O_RDONLY);
	if (!why && fd < 0)
		why = UNREADABLE;
	if (why) {
		w->s->lost |= !had && fd >= 0 && was_there(fd);
		return diff_skip(w, kind, false, why, err);
	}
	if (had && is_same(p, name, fd, st, had))
		return 0;
	c = diff_add(w, p, kind, had);
	if (!c)
		return fail_memory(err, "changes");
	c->mode = mode_of(st, had);
	if (had)
		c->reason = check_host(w, p, name, c);
	else if (commit_state_has(w->s->prior, w->s->root, w->path))
		c->reason = GONE;
	return 0;
}

/* ---- directories ---- */

static int diff_place(struct walk *w, struct place *p, struct remit_error *err);

/* Others may work in the directory as well, which is harmless unless it was
   replaced by another one. Replacing it changes the parent directory, and the
   ctime of the directory that is moved there. */
static bool
is_maybe_another(const struct walk *w, const struct place *p,
		 const struct stat *had)
{
	const struct ctime_mark *since = &w->s->since;

	return p->may_be_another || ctime_mark_is_void(since) ||
	       (ctime_mark_is_since(since, &had->st_ctim) &&
		ctime_mark_is_since(since, &p->was.st_mtim) &&
		!commit_state_is(w->s->prior, w->s->root, w->path, had));
}

static int
diff_below(struct walk *w, const struct place *p, const char *name, DIR *upper,
	   const struct stat *had, struct remit_error *err)
{
	struct place below = {
		.upper = upper,
		.host = -1,
		.repository = p->repository || is_repository(p, name),
		.depth = p->depth + 1,
		.path_len = strlen(w->path),
	};
	int done;

	if (had) {
		below.was = *had;
		below.may_be_another = is_maybe_another(w, p, had);
		below.host =
			beneath_open(p->host, name, O_RDONLY | O_DIRECTORY);
		if (below.host < 0)
			return diff_skip(w, CHANGE_MODIFIED, true, HOST_OTHER,
					 err);
	}
	done = diff_place(w, &below, err);
	own_fd_close(&below.host);
	return done;
}

static int
diff_new_directory(struct walk *w, const struct place *p, const char *name,
		   DIR *upper, const struct stat *st, const struct stat *had,
		   struct remit_error *err)
{
	struct change *c =
		diff_add(w, p, had ? CHANGE_MODIFIED : CHANGE_CREATED, had);

	if (!c)
		return fail_memory(err, "changes");
	c->is_directory = true;
	c->mode = mode_of(st, had);
	if (had)
		c->reason = check_host(w, p, name, c);
	else if (p->host >= 0 &&
		 (was_there(dirfd(upper)) ||
		  commit_state_has(w->s->prior, w->s->root, w->path)))
		c->reason = GONE;
	return c->reason ? 0 : diff_below(w, p, name, upper, NULL, err);
}

static int
diff_directory(struct walk *w, const struct place *p, const char *name,
	       const struct stat *st, const struct stat *had,
	       struct remit_error *err)
{
	bool merged = had && S_ISDIR(had->st_mode);
	enum change_kind kind = had ? CHANGE_MODIFIED : CHANGE_CREATED;
	const char *why = w->s->filters ? check_directory(w, p, name) : NULL;
	DIR *upper = NULL;
	int done;

	if (!why && p->depth + 1 >= DIFF_DEPTH_MAX)
		why = TOO_DEEP;
	if (!why)
		upper = open_directory(dirfd(p->upper), name);
	if (!upper)
		return diff_skip(w, kind, true, why ? why : UNREADABLE, err);
	if (merged && mode_of(st, had) != (had->st_mode & 0777)) {
		struct change *c = diff_add(w, p, CHANGE_MODE, had);

		if (!c) {
			closedir(upper);
			return fail_memory(err, "changes");
		}
		c->is_directory = true;
		c->mode = mode_of(st, had);
		c->reason = is_maybe_another(w, p, had) ? MOVED : NULL;
	}
	done = merged ? diff_below(w, p, name, upper, had, err)
		      : diff_new_directory(w, p, name, upper, st, had, err);
	closedir(upper);
	return done;
}

/* The kernel marks a new directory as opaque only if the host had one at the
   path. So a new directory would show its counterpart, which the commit makes,
   at the next lookup. */
int
diff_make_opaque(const struct diff *s, const char *path)
{
	own_fd int fd = beneath_open(s->upper, path, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? -1 : fsetxattr(fd, OPAQUE, "y", 1, 0);
}

/* ---- the walk ---- */

static int
set_path(struct walk *w, const struct place *p, const char *name)
{
	size_t at = p->path_len;
	int n = snprintf(w->path + at, sizeof(w->path) - at, "%s%s",
			 at ? "/" : "", name);

	return (size_t)n < sizeof(w->path) - at ? 0 : -1;
}

static int
diff_name(struct walk *w, const struct place *p, const char *name,
	  struct remit_error *err)
{
	struct stat st, host;
	const struct stat *had = NULL;

	if (set_path(w, p, name) < 0) {
		w->path[p->path_len] = '\0';
		return diff_skip(w, CHANGE_CREATED, false, TOO_LONG, err);
	}
	if (fstatat(dirfd(p->upper), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return diff_skip(w, CHANGE_CREATED, false, UNREADABLE, err);
	if (p->host >= 0 &&
	    fstatat(p->host, name, &host, AT_SYMLINK_NOFOLLOW) == 0)
		had = &host;
	/* A whiteout: the name was deleted. */
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
		return had ? diff_removed(w, p, name, had, err) : 0;
	if (S_ISDIR(st.st_mode))
		return diff_directory(w, p, name, &st, had, err);
	return diff_file(w, p, name, &st, had, err);
}

/* A directory that was removed and made again hides all names of the host's
   directory. */
static int
diff_hidden(struct walk *w, const struct place *p, struct remit_error *err)
{
	own_fd int again = openat(p->host, ".", O_RDONLY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct stat st, had;
	struct dirent *e;
	int done = 0;

	if (!d)
		return diff_skip(w, CHANGE_DELETED, true, UNREADABLE, err);
	take_fd(&again);
	while (done == 0 && (e = readdir(d))) {
		if (beneath_is_dots(e->d_name))
			continue;
		if (set_path(w, p, e->d_name) < 0) {
			w->path[p->path_len] = '\0';
			done = diff_skip(w, CHANGE_DELETED, true, TOO_LONG,
					 err);
			continue;
		}
		if (fstatat(dirfd(p->upper), e->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 ||
		    fstatat(p->host, e->d_name, &had, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		done = diff_removed(w, p, e->d_name, &had, err);
	}
	closedir(d);
	w->path[p->path_len] = '\0';
	return done;
}

static int
diff_place(struct walk *w, struct place *p, struct remit_error *err)
{
	struct dirent *e;
	char opaque = 0;

	while ((e = readdir(p->upper)))
		if (!beneath_is_dots(e->d_name) &&
		    diff_name(w, p, e->d_name, err) < 0)
			return -1;
	w->path[p->path_len] = '\0';
	if (p->host >= 0 &&
	    fgetxattr(dirfd(p->upper), OPAQUE, &opaque, 1) == 1 &&
	    opaque == 'y')
		return diff_hidden(w, p, err);
	return 0;
}

int
diff_run(struct diff *s, struct remit_error *err)
{
	struct walk w = { .s = s };
	struct place top = { .host = s->host };
	int done;

	top.upper = open_directory(s->upper, ".");
	if (!top.upper || fstat(s->host, &top.was) < 0) {
		if (top.upper)
			closedir(top.upper);
		return fail_sys(err, REMIT_E_KERNEL,
				"open the directories to compare");
	}
	top.repository = is_repository(&top, ".");
	done = diff_place(&w, &top, err);
	closedir(top.upper);
	changes_sort(&s->changes);
	return done;
}

void
diff_free(struct diff *s)
{
	changes_free(&s->changes);
	list_free(&s->allowed);
	list_free(&s->guarded);
}
