/*
 * wasm_table: the descriptors of a guest, and what Linux calls errors and
 * files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wasm/wasi.h"

/* Errors without a row become WASI_IO. */
static const struct {
	int sys;
	enum wasi_error wasi;
} errors[] = {
	{ E2BIG, WASI_2BIG },
	{ EACCES, WASI_ACCES },
	{ EAGAIN, WASI_AGAIN },
	{ EBADF, WASI_BADF },
	{ EBUSY, WASI_BUSY },
	{ EDQUOT, WASI_DQUOT },
	{ EEXIST, WASI_EXIST },
	{ EFAULT, WASI_FAULT },
	{ EFBIG, WASI_FBIG },
	{ EILSEQ, WASI_ILSEQ },
	{ EINTR, WASI_INTR },
	{ EINVAL, WASI_INVAL },
	{ EIO, WASI_IO },
	{ EISDIR, WASI_ISDIR },
	{ ELOOP, WASI_LOOP },
	{ EMFILE, WASI_MFILE },
	{ EMLINK, WASI_MLINK },
	{ ENAMETOOLONG, WASI_NAMETOOLONG },
	{ ENFILE, WASI_NFILE },
	{ ENODEV, WASI_NODEV },
	{ ENOENT, WASI_NOENT },
	{ ENOMEM, WASI_NOMEM },
	{ ENOSPC, WASI_NOSPC },
	{ ENOSYS, WASI_NOSYS },
	{ ENOTDIR, WASI_NOTDIR },
	{ ENOTEMPTY, WASI_NOTEMPTY },
	{ EOPNOTSUPP, WASI_NOTSUP },
	{ ENXIO, WASI_NXIO },
	{ EOVERFLOW, WASI_OVERFLOW },
	{ EPERM, WASI_PERM },
	{ EPIPE, WASI_PIPE },
	{ EROFS, WASI_ROFS },
	{ ESPIPE, WASI_SPIPE },
	{ ETXTBSY, WASI_TXTBSY },
	{ EXDEV, WASI_XDEV },
};

uint32_t
wasi_error_of(int sys_errno)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].sys == sys_errno)
			return errors[i].wasi;
	return WASI_IO;
}

/* Without a right to seek, wasi-libc's isatty() calls /dev/null a terminal. */
#define STREAM_RIGHTS                                           \
	(WASI_RIGHT_READ | WASI_RIGHT_WRITE | WASI_RIGHT_SEEK | \
	 WASI_RIGHT_TELL | WASI_RIGHT_STAT | WASI_RIGHT_POLL |  \
	 WASI_RIGHT_SET_FLAGS | WASI_RIGHT_SYNC | WASI_RIGHT_DATASYNC)

int
wasi_init(struct wasi *w, uint32_t fd_count, int channel, int root)
{
	if (fd_count < WASI_FDS_FIRST) {
		errno = EINVAL;
		return -1;
	}
	w->fds = calloc(fd_count, sizeof(*w->fds));
	if (!w->fds)
		return -1;
	w->fd_count = fd_count;
	for (int i = 0; i < 3; i++)
		w->fds[i] =
			(struct wasi_fd){ WASI_STREAM, i, STREAM_RIGHTS, 0 };
	if (channel >= 0)
		w->fds[WASI_FD_CHANNEL] =
			(struct wasi_fd){ WASI_CHANNEL, channel, STREAM_RIGHTS,
					  0 };
	w->fds[WASI_FD_ROOT] =
		(struct wasi_fd){ WASI_ROOT, root, WASI_RIGHTS_ALL,
				  WASI_RIGHTS_ALL };
	return 0;
}

void
wasi_free(struct wasi *w)
{
	for (uint32_t i = 0; i < w->fd_count; i++)
		if (w->fds[i].kind >= WASI_FILE)
			close(w->fds[i].host);
	free(w->fds);
	w->fds = NULL;
	w->fd_count = 0;
}

uint32_t
wasi_find(struct wasi *w, uint32_t fd, uint64_t rights, struct wasi_fd **out)
{
	struct wasi_fd *f = fd < w->fd_count ? &w->fds[fd] : NULL;

	if (!f || f->kind == WASI_FREE)
		return WASI_BADF;
	if (rights & ~f->rights)
		return WASI_NOTCAPABLE;
	*out = f;
	return WASI_OK;
}

uint32_t
wasi_add(struct wasi *w, const struct wasi_fd *f, uint32_t *fd)
{
	for (uint32_t i = 0; i < w->fd_count; i++) {
		if (w->fds[i].kind != WASI_FREE)
			continue;
		w->fds[i] = *f;
		*fd = i;
		return WASI_OK;
	}
	close(f->host);
	return WASI_MFILE;
}

static enum wasi_filetype
type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFBLK:
		return WASI_TYPE_BLOCK;
	case S_IFCHR:
		return WASI_TYPE_CHARACTER;
	case S_IFDIR:
		return WASI_TYPE_DIRECTORY;
	case S_IFREG:
		return WASI_TYPE_FILE;
	case S_IFSOCK:
		return WASI_TYPE_SOCKET;
	case S_IFLNK:
		return WASI_TYPE_LINK;
	default:
		return WASI_TYPE_UNKNOWN;
	}
}

static uint64_t
nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

void
wasi_put_stat(unsigned char out[WASI_STAT_SIZE], const struct stat *st)
{
	const uint64_t words[WASI_STAT_SIZE / 8] = {
		st->st_dev,
		st->st_ino,
		type_of(st->st_mode),
		st->st_nlink,
		(uint64_t)st->st_size,
		nanoseconds(&st->st_atim),
		nanoseconds(&st->st_mtim),
		nanoseconds(&st->st_ctim),
	};

	memcpy(out, words, sizeof(words));
}

#define TIME_ATIM     1u
#define TIME_ATIM_NOW 2u
#define TIME_MTIM     4u
#define TIME_MTIM_NOW 8u

static struct timespec
time_of(uint64_t ns, bool set, bool now)
{
	struct timespec t = { .tv_nsec = UTIME_OMIT };

	if (now)
		t.tv_nsec = UTIME_NOW;
	else if (set)
		t = (struct timespec){ (time_t)(ns / 1000000000u),
				       (long)(ns % 1000000000u) };
	return t;
}

uint32_t
wasi_times(struct timespec out[2], uint64_t atim, uint64_t mtim, uint32_t flags)
{
	const uint32_t both_a = TIME_ATIM | TIME_ATIM_NOW;
	const uint32_t both_m = TIME_MTIM | TIME_MTIM_NOW;

	if (flags & ~(both_a | both_m) || (flags & both_a) == both_a ||
	    (flags & both_m) == both_m)
		return WASI_INVAL;
	out[0] = time_of(atim, flags & TIME_ATIM, flags & TIME_ATIM_NOW);
	out[1] = time_of(mtim, flags & TIME_MTIM, flags & TIME_MTIM_NOW);
	return WASI_OK;
}
