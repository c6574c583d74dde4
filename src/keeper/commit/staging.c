#include "keeper/commit/staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/file/beneath.h"
#include "base/file/io.h"
#include "jail/mount/sweep.h"

#define PREFIX ".remit-stage-"
/* How many commits may write to one directory at the same time. */
#define NAMES_MAX 64
/* This file marks a staging directory. Only the owner can create it, because
   the directory has mode 0700. */
#define MARKER "of-remit"
/* Exchanged with the marker, to test whether the file system can do that. */
#define EXCHANGED "other"

/* ---- the directory ---- */

static bool
is_marked(int fd)
{
	struct stat st;

	return fstatat(fd, MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* A directory without the marker may be used only if it is empty. */
static bool
is_empty(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;
	bool empty = d != NULL;

	while (d && empty && (e = readdir(d)))
		empty = beneath_is_dots(e->d_name);
	if (d)
		closedir(d);
	return empty;
}

/* Opens the directory by its name and locks it. Returns -1 unless the name
   still leads to it. */
static int
open_locked(int top, const char *name)
{
	own_fd int fd = openat(top, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, named;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
	    fstatat(top, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (st.st_ino != named.st_ino || st.st_dev != named.st_dev ||
	    st.st_uid != geteuid() || (st.st_mode & 0777) != 0700)
		return -1;
	return take_fd(&fd);
}

static int
make_file(int fd, const char *name)
{
	own_fd int file =
		openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return file < 0 ? -1 : 0;
}

/* Empties the directory, except for the marker. */
static int
claim_stage(int fd)
{
	if (!is_marked(fd) && !is_empty(fd)) {
		errno = EEXIST;
		return -1;
	}
	if (sweep(fd) < 0 || make_file(fd, MARKER) < 0 ||
	    make_file(fd, EXCHANGED) < 0)
		return -1;
	return renameat2(fd, MARKER, fd, EXCHANGED, RENAME_EXCHANGE);
}

/* Leave what cannot be removed now to the next commit. */
static void
remove_stage(int top, const char *name, int fd)
{
	int saved = errno;

	if (sweep(fd) == 0)
		unlinkat(top, name, AT_REMOVEDIR);
	errno = saved;
}

/* Returns 1 if the stage is ours now, 0 if it belongs to another process. */
static int
try_stage(struct staging *st, int top)
{
	own_fd int fd = -1;

	if (mkdirat(top, st->name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = open_locked(top, st->name);
	if (fd < 0)
		return 0;
	if (claim_stage(fd) == 0) {
		st->top = top;
		st->fd = take_fd(&fd);
		return 1;
	}
	if (errno == EEXIST)
		return 0;
	remove_stage(top, st->name, fd);
	return -1;
}

int
staging_open(struct staging *st, int top)
{
	int taken = 0;

	if (fstat(top, &st->owner) < 0)
		return -1;
	for (int i = 0; i < NAMES_MAX && !taken; i++) {
		snprintf(st->name, sizeof(st->name), PREFIX "%d", i);
		taken = try_stage(st, top);
	}
	if (!taken)
		errno = EBUSY;
	return taken == 1 ? 0 : -1;
}

const char *
staging_name(struct staging *st, size_t i)
{
	snprintf(st->item, sizeof(st->item), "%zu", i);
	return st->item;
}

void
staging_free(struct staging *st)
{
	if (st->fd >= 0)
		remove_stage(st->top, st->name, st->fd);
	own_fd_close(&st->fd);
	*st = (struct staging)STAGING_INIT;
}

/* ---- files ---- */

/* As root, use the owner of the file that is replaced, or of the directory. */
static int
set_owner_and_mode(const struct staging *st, const struct change *c, int fd)
{
	const struct stat *as = c->had ? &c->seen : &st->owner;
	struct stat made;

	if (geteuid() == 0 && fchown(fd, as->st_uid, as->st_gid) < 0)
		return -1;
	if (fstat(fd, &made) < 0)
		return -1;
	/* With this bit, new files in the directory inherit its group. */
	return fchmod(fd,
		      c->mode | (c->is_directory ? made.st_mode & S_ISGID : 0));
}

/* Keeps holes: a file can be much longer than its data. */
static int
copy_bytes(int from, int to, off_t size)
{
	char piece[65536];
	off_t at = 0;

	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(from, at, SEEK_HOLE);

		while (at < end) {
			size_t want = end - at < (off_t)sizeof(piece)
					      ? (size_t)(end - at)
					      : sizeof(piece);
			ssize_t n = pread(from, piece, want, at);

			if (n <= 0 ||
			    io_write_all_at(to, piece, (size_t)n, at) < 0)
				return -1;
			at += n;
		}
	}
	return errno == ENXIO ? ftruncate(to, size) : -1;
}

static int
copy_file(struct staging *st, const struct diff *s, const struct change *c,
	  const char *name)
{
	own_fd int from = beneath_open(s->upper, c->path, O_RDONLY);
	own_fd int to = -1;
	struct stat is;

	if (from < 0 || fstat(from, &is) < 0)
		return -1;
	to = openat(st->fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0 || copy_bytes(from, to, is.st_size) < 0 ||
	    set_owner_and_mode(st, c, to) < 0)
		return -1;
	return futimens(to, (struct timespec[]){ is.st_mtim, is.st_mtim });
}

int
staging_copy(struct staging *st, const struct diff *s, const struct change *c,
	     const char *name)
{
	own_fd int fd = -1;

	if (!c->is_directory)
		return copy_file(st, s, c, name);
	if (mkdirat(st->fd, name, 0700) < 0)
		return -1;
	fd = openat(st->fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : set_owner_and_mode(st, c, fd);
}
