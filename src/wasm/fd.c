/*
 * wasm_fd: what a guest does with its descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wasm/wasi.h"

static void
put32(unsigned char *out, uint32_t value)
{
	memcpy(out, &value, sizeof(value));
}

static void
put64(unsigned char *out, uint64_t value)
{
	memcpy(out, &value, sizeof(value));
}

/* ---- reading and writing ---- */

/* Longer lists are transferred in part, as a short read or write. */
#define PARTS_MAX 64

/* The parts of a list that are not empty. */
static uint32_t
read_parts(struct wasi *w, uint32_t iovs, uint32_t count,
	   struct iovec parts[PARTS_MAX], int *used)
{
	const unsigned char *at = wasi_span(w, iovs, (uint64_t)count * 8);

	*used = 0;
	if (!at)
		return WASI_FAULT;
	for (; count && *used < PARTS_MAX; count--, at += 8) {
		uint32_t place, len;
		unsigned char *base;

		memcpy(&place, at, 4);
		memcpy(&len, at + 4, 4);
		base = wasi_span(w, place, len);
		if (!base)
			return WASI_FAULT;
		if (len)
			parts[(*used)++] = (struct iovec){ base, len };
	}
	return WASI_OK;
}

struct transfer {
	uint32_t fd, iovs, count, out;
	uint64_t right;
	bool positioned;
	uint64_t offset;
};

static ssize_t
transfer_once(const struct transfer *t, int host, const struct iovec *parts,
	      int used)
{
	if (t->right == WASI_RIGHT_READ)
		return t->positioned
			       ? preadv(host, parts, used, (off_t)t->offset)
			       : readv(host, parts, used);
	return t->positioned ? pwritev(host, parts, used, (off_t)t->offset)
			     : writev(host, parts, used);
}

static uint32_t
transfer_run(struct wasi *w, const struct transfer *t)
{
	unsigned char *out = wasi_span(w, t->out, 4);
	struct iovec parts[PARTS_MAX];
	struct wasi_fd *f = NULL;
	uint32_t error;
	ssize_t n;
	int used;

	error = wasi_find(w, t->fd,
			  t->right | (t->positioned ? WASI_RIGHT_SEEK : 0), &f);
	if (error)
		return error;
	if (!out)
		return WASI_FAULT;
	error = read_parts(w, t->iovs, t->count, parts, &used);
	if (error)
		return error;
	if (t->offset > INT64_MAX)
		return WASI_INVAL;
	/* Interrupted by guest_interrupt(): the guest decides what follows. */
	n = transfer_once(t, f->host, parts, used);
	if (n < 0)
		return wasi_error_of(errno);
	put32(out, (uint32_t)n);
	return WASI_OK;
}

uint32_t
wasi_fd_read(struct wasi *w, uint32_t fd, uint32_t iovs, uint32_t count,
	     uint32_t out)
{
	const struct transfer t = { fd,	   iovs, count, out, WASI_RIGHT_READ,
				    false, 0 };

	return transfer_run(w, &t);
}

uint32_t
wasi_fd_pread(struct wasi *w, uint32_t fd, uint32_t iovs, uint32_t count,
	      uint64_t offset, uint32_t out)
{
	const struct transfer t = { fd,	  iovs,	 count, out, WASI_RIGHT_READ,
				    true, offset };

	return transfer_run(w, &t);
}

uint32_t
wasi_fd_write(struct wasi *w, uint32_t fd, uint32_t iovs, uint32_t count,
	      uint32_t out)
{
	const struct transfer t = { fd,	   iovs, count, out, WASI_RIGHT_WRITE,
				    false, 0 };

	return transfer_run(w, &t);
}

uint32_t
wasi_fd_pwrite(struct wasi *w, uint32_t fd, uint32_t iovs, uint32_t count,
	       uint64_t offset, uint32_t out)
{
	const struct transfer t = { fd,	  iovs,	 count, out, WASI_RIGHT_WRITE,
				    true, offset };

	return transfer_run(w, &t);
}

static uint32_t
seek(struct wasi *w, struct wasi_fd *f, int64_t offset, int whence,
     uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, 8);
	off_t at;

	if (!out)
		return WASI_FAULT;
	at = lseek(f->host, offset, whence);
	if (at < 0)
		return wasi_error_of(errno);
	put64(out, (uint64_t)at);
	return WASI_OK;
}

uint32_t
wasi_fd_seek(struct wasi *w, uint32_t fd, uint64_t offset, uint32_t whence,
	     uint32_t out)
{
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END };
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_SEEK, &f);

	if (error)
		return error;
	if (whence >= sizeof(whences) / sizeof(whences[0]))
		return WASI_INVAL;
	return seek(w, f, (int64_t)offset, whences[whence], out);
}

uint32_t
wasi_fd_tell(struct wasi *w, uint32_t fd, uint32_t out)
{
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_TELL, &f);

	return error ? error : seek(w, f, 0, SEEK_CUR, out);
}

/* ---- descriptors ---- */

uint32_t
wasi_fd_close(struct wasi *w, uint32_t fd)
{
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, 0, &f);

	if (error)
		return error;
	/* Linux closes the descriptor even if close(2) fails. */
	close(f->host);
	*f = (struct wasi_fd){ .kind = WASI_FREE };
	return WASI_OK;
}

uint32_t
wasi_fd_renumber(struct wasi *w, uint32_t from, uint32_t to)
{
	struct wasi_fd *a = NULL, *b = NULL;
	uint32_t error = wasi_find(w, from, 0, &a);

	if (!error)
		error = wasi_find(w, to, 0, &b);
	if (error || a == b)
		return error;
	close(b->host);
	*b = *a;
	*a = (struct wasi_fd){ .kind = WASI_FREE };
	return WASI_OK;
}

#define FLAG_APPEND   1u
#define FLAG_NONBLOCK 4u

uint32_t
wasi_fd_fdstat_get(struct wasi *w, uint32_t fd, uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, 24);
	unsigned char type[WASI_STAT_SIZE];
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, 0, &f);
	struct stat st;
	int flags;

	if (error)
		return error;
	if (!out)
		return WASI_FAULT;
	flags = fcntl(f->host, F_GETFL);
	if (flags < 0 || fstat(f->host, &st) < 0)
		return wasi_error_of(errno);
	wasi_put_stat(type, &st);
	memset(out, 0, 24);
	out[0] = type[16];
	out[2] = (unsigned char)((flags & O_APPEND ? FLAG_APPEND : 0) |
				 (flags & O_NONBLOCK ? FLAG_NONBLOCK : 0));
	put64(out + 8, f->rights);
	put64(out + 16, f->inheriting);
	return WASI_OK;
}

uint32_t
wasi_fd_fdstat_set_flags(struct wasi *w, uint32_t fd, uint32_t flags)
{
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_SET_FLAGS, &f);

	if (error)
		return error;
	if (fcntl(f->host, F_SETFL,
		  (flags & FLAG_APPEND ? O_APPEND : 0) |
			  (flags & FLAG_NONBLOCK ? O_NONBLOCK : 0)) < 0)
		return wasi_error_of(errno);
	return WASI_OK;
}

uint32_t
wasi_fd_fdstat_set_rights(struct wasi *w, uint32_t fd, uint64_t rights,
			  uint64_t inheriting)
{
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, 0, &f);

	if (error)
		return error;
	if (rights & ~f->rights || inheriting & ~f->inheriting)
		return WASI_NOTCAPABLE;
	f->rights = rights;
	f->inheriting = inheriting;
	return WASI_OK;
}

uint32_t
wasi_fd_filestat_get(struct wasi *w, uint32_t fd, uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, WASI_STAT_SIZE);
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_STAT, &f);
	struct stat st;

	if (error)
		return error;
	if (!out)
		return WASI_FAULT;
	if (fstat(f->host, &st) < 0)
		return wasi_error_of(errno);
	wasi_put_stat(out, &st);
	return WASI_OK;
}

uint32_t
wasi_fd_filestat_set_size(struct wasi *w, uint32_t fd, uint64_t size)
{
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_SET_SIZE, &f);

	if (error)
		return error;
	if (size > INT64_MAX)
		return WASI_INVAL;
	return ftruncate(f->host, (off_t)size) < 0 ? wasi_error_of(errno)
						   : WASI_OK;
}

uint32_t
wasi_fd_filestat_set_times(struct wasi *w, uint32_t fd, uint64_t atim,
			   uint64_t mtim, uint32_t flags)
{
	struct timespec times[2];
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_SET_TIMES, &f);

	if (!error)
		error = wasi_times(times, atim, mtim, flags);
	if (error)
		return error;
	return futimens(f->host, times) < 0 ? wasi_error_of(errno) : WASI_OK;
}

/* Nothing is lost by skipping a sync: see closing_unsynced_calls in
   jail/seccomp/syscall_table.c. */
uint32_t
wasi_fd_sync(struct wasi *w, uint32_t fd)
{
	struct wasi_fd *f = NULL;

	return wasi_find(w, fd, WASI_RIGHT_SYNC, &f);
}

uint32_t
wasi_fd_datasync(struct wasi *w, uint32_t fd)
{
	struct wasi_fd *f = NULL;

	return wasi_find(w, fd, WASI_RIGHT_DATASYNC, &f);
}

uint32_t
wasi_fd_advise(struct wasi *w, uint32_t fd, uint64_t offset, uint64_t len,
	       uint32_t advice)
{
	struct wasi_fd *f = NULL;

	(void)offset;
	(void)len;
	return advice > 5 ? (uint32_t)WASI_INVAL
			  : wasi_find(w, fd, WASI_RIGHT_ADVISE, &f);
}

/* ---- what the guest starts with ---- */

#define ROOT_NAME "/"

/* wasi-libc asks for each number from 3 on until one is free, and takes those
   with tag 0 as directories. The channel has another tag, so that wasi-libc
   goes on to the root. */
uint32_t
wasi_fd_prestat_get(struct wasi *w, uint32_t fd, uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, 8);
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, 0, &f);

	if (error)
		return error;
	if (f->kind != WASI_CHANNEL && f->kind != WASI_ROOT)
		return WASI_BADF;
	if (!out)
		return WASI_FAULT;
	put32(out, f->kind == WASI_CHANNEL);
	put32(out + 4, f->kind == WASI_ROOT ? sizeof(ROOT_NAME) - 1 : 0);
	return WASI_OK;
}

uint32_t
wasi_fd_prestat_dir_name(struct wasi *w, uint32_t fd, uint32_t buf,
			 uint32_t len)
{
	unsigned char *out = wasi_span(w, buf, len);
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, 0, &f);

	if (error)
		return error;
	if (f->kind != WASI_ROOT)
		return WASI_BADF;
	if (!out)
		return WASI_FAULT;
	if (len < sizeof(ROOT_NAME) - 1)
		return WASI_NAMETOOLONG;
	memcpy(out, ROOT_NAME, sizeof(ROOT_NAME) - 1);
	return WASI_OK;
}

/* ---- directories ---- */

/* An entry that getdents64(2) has written. */
struct linux_dirent {
	uint64_t ino;
	int64_t next;
	unsigned short size;
	unsigned char type;
	char name[];
};

#define DIRENT_SIZE 24

struct listing {
	unsigned char *out;
	uint32_t len, used;
};

/* Adds as many bytes as there is room for. If an entry is cut off, the
   guest asks again for more. */
static void
listing_add(struct listing *l, const void *bytes, size_t len)
{
	size_t room = l->len - l->used;
	size_t n = len < room ? len : room;

	memcpy(l->out + l->used, bytes, n);
	l->used += (uint32_t)n;
}

static void
listing_add_entry(struct listing *l, const struct linux_dirent *d)
{
	static const unsigned char types[] = {
		[DT_BLK] = WASI_TYPE_BLOCK,	[DT_CHR] = WASI_TYPE_CHARACTER,
		[DT_DIR] = WASI_TYPE_DIRECTORY, [DT_REG] = WASI_TYPE_FILE,
		[DT_SOCK] = WASI_TYPE_SOCKET,	[DT_LNK] = WASI_TYPE_LINK,
	};
	unsigned char head[DIRENT_SIZE] = { 0 };
	size_t len = strlen(d->name);

	put64(head, (uint64_t)d->next);
	put64(head + 8, d->ino);
	put32(head + 16, (uint32_t)len);
	head[20] = d->type < sizeof(types) ? types[d->type] : 0;
	listing_add(l, head, sizeof(head));
	listing_add(l, d->name, len);
}

/* Returns 1 after some entries, 0 at the end, and -1 with errno. */
static int
listing_fill(struct listing *l, int host)
{
	_Alignas(struct linux_dirent) char piece[4096];
	long n = syscall(SYS_getdents64, host, piece, sizeof(piece));
	const struct linux_dirent *d;

	if (n <= 0)
		return (int)n;
	for (long at = 0; at < n && l->used < l->len; at += d->size) {
		d = (const struct linux_dirent *)(piece + at);
		listing_add_entry(l, d);
	}
	return 1;
}

uint32_t
wasi_fd_readdir(struct wasi *w, uint32_t fd, uint32_t buf, uint32_t len,
		uint64_t cookie, uint32_t out_at)
{
	struct listing l = { .out = wasi_span(w, buf, len), .len = len };
	unsigned char *out = wasi_span(w, out_at, 4);
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, WASI_RIGHT_READDIR, &f);
	int more = 1;

	if (error)
		return error;
	if (!l.out || !out)
		return WASI_FAULT;
	if (lseek(f->host, (off_t)cookie, SEEK_SET) < 0)
		return wasi_error_of(errno);
	while (more > 0 && l.used < l.len)
		more = listing_fill(&l, f->host);
	if (more < 0)
		return wasi_error_of(errno);
	put32(out, l.used);
	return WASI_OK;
}
