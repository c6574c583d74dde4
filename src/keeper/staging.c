#include "staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "beneath.h"
#include "sweep.h"

#define PREFIX ".remit-stage-"

/* ---- the folder ---- */

static int
open_locked(int top, const char *name)
{
	own_fd int fd = openat(top, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return take_fd(&fd);
}

static void
remove_stage(int top, const char *name, int fd)
{
	/* What cannot be removed now, the next one tries again. */
	if (sweep(fd) == 0)
		unlinkat(top, name, AT_REMOVEDIR);
}

static void
remove_left(int top)
{
	int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		own_fd int fd = -1;

		if (strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		fd = open_locked(top, e->d_name);
		if (fd >= 0)
			remove_stage(top, e->d_name, fd);
	}
	if (d)
		closedir(d);
	else
		own_fd_close(&again);
}

int
staging_open(struct staging *st, int top, const char *id)
{
	remove_left(top);
	snprintf(st->name, sizeof(st->name), PREFIX "%.20s", id);
	if (fstat(top, &st->owner) < 0 || mkdirat(top, st->name, 0700) < 0)
		return -1;
	st->top = top;
	st->fd = open_locked(top, st->name);
	return st->fd < 0 ? -1 : 0;
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

/* By root: as what it replaces, else as the folder. */
static int
give(const struct staging *st, const struct change *c, int fd)
{
	const struct stat *as = c->had ? &c->seen : &st->owner;

	if (geteuid() == 0 && fchown(fd, as->st_uid, as->st_gid) < 0)
		return -1;
	return fchmod(fd, c->mode);
}

static int
write_all(int fd, const char *bytes, size_t n, off_t at)
{
	while (n) {
		ssize_t done = pwrite(fd, bytes, n, at);

		if (done < 0)
			return -1;
		bytes += done;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Holes stay holes: a file can be much longer than what it holds. */
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

			if (n <= 0 || write_all(to, piece, (size_t)n, at) < 0)
				return -1;
			at += n;
		}
	}
	return errno == ENXIO ? ftruncate(to, size) : -1;
}

static int
copy_file(struct staging *st, const struct survey *s, const struct change *c,
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
	    give(st, c, to) < 0)
		return -1;
	return futimens(to, (struct timespec[]){ is.st_mtim, is.st_mtim });
}

int
staging_copy(struct staging *st, const struct survey *s, const struct change *c,
	     const char *name)
{
	own_fd int fd = -1;

	if (!c->is_folder)
		return copy_file(st, s, c, name);
	if (mkdirat(st->fd, name, 0700) < 0)
		return -1;
	fd = openat(st->fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : give(st, c, fd);
}
