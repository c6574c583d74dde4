/*
 * wasm_path: what a guest does with paths.
 *
 * Each path is resolved by openat2(2). From the root of the jail, an absolute
 * path or link starts at that root, and ".." stays in it (RESOLVE_IN_ROOT):
 * that is what the jail's own root means. From another directory, nothing
 * outside of it can be reached (RESOLVE_BENEATH). A call that changes a
 * directory resolves the path of the directory in this way, and passes only a
 * single name to the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "wasm/wasi.h"

/* The kernel returns EAGAIN if a rename elsewhere made it doubt a "..". */
#define ATTEMPTS 32

static int
open_beneath(const struct wasi_fd *dir, const char *path, uint64_t flags,
	     uint64_t mode)
{
	const struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = mode,
		.resolve = RESOLVE_NO_MAGICLINKS |
			   (dir->kind == WASI_ROOT ? RESOLVE_IN_ROOT
						   : RESOLVE_BENEATH),
	};
	int fd = -1;

	for (int i = 0; i < ATTEMPTS; i++) {
		fd = (int)syscall(SYS_openat2, dir->host, path, &how,
				  sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd;
}

static uint32_t
path_error(const struct wasi_fd *dir)
{
	return errno == EXDEV && dir->kind != WASI_ROOT ? WASI_NOTCAPABLE
							: wasi_error_of(errno);
}

struct path {
	const struct wasi_fd *dir;
	char text[PATH_MAX];
};

/* Finds the directory and copies the path, which must have no NUL. */
static uint32_t
path_get(struct wasi *w, struct path *p, uint32_t fd, uint64_t rights,
	 uint32_t at, uint32_t len)
{
	const unsigned char *text = wasi_span(w, at, len);
	struct wasi_fd *f = NULL;
	uint32_t error = wasi_find(w, fd, rights, &f);

	if (error)
		return error;
	if (f->kind != WASI_ROOT && f->kind != WASI_DIRECTORY)
		return WASI_NOTDIR;
	if (!text)
		return WASI_FAULT;
	if (!len)
		return WASI_NOENT;
	if (len >= sizeof(p->text))
		return WASI_NAMETOOLONG;
	if (memchr(text, 0, len))
		return WASI_INVAL;
	p->dir = f;
	memcpy(p->text, text, len);
	p->text[len] = '\0';
	return WASI_OK;
}

/* A directory and the name of something in it. */
struct place {
	int parent; /* O_PATH */
	const char *name;
	bool must_be_directory; /* the path ended with a slash */
	struct path path;
};

static void
place_free(struct place *p)
{
	own_fd_close(&p->parent);
}

#define PLACE_INIT { .parent = -1 }

/* The part of the path before the last name, and that name. */
static const char *
split(char *text, bool *has_slash, const char **name)
{
	size_t len = strlen(text);
	char *slash;

	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0', *has_slash = true;
	slash = strrchr(text, '/');
	*name = slash ? slash + 1 : text;
	if (!slash)
		return ".";
	/* Keep the first slash: "/name" is in the root. */
	if (slash == text)
		return "/";
	*slash = '\0';
	return text;
}

static uint32_t
place_get(struct wasi *w, struct place *p, uint32_t fd, uint64_t rights,
	  uint32_t at, uint32_t len)
{
	uint32_t error = path_get(w, &p->path, fd, rights, at, len);
	const char *parent;

	if (error)
		return error;
	parent = split(p->path.text, &p->must_be_directory, &p->name);
	/* The kernel fails each change of these names, too, but after having
	   left the directory. */
	if (!*p->name || !strcmp(p->name, ".") || !strcmp(p->name, ".."))
		return WASI_INVAL;
	p->parent = open_beneath(p->path.dir, parent, O_PATH | O_DIRECTORY, 0);
	return p->parent < 0 ? path_error(p->path.dir) : WASI_OK;
}

static uint32_t
result_of(int returned)
{
	return returned < 0 ? wasi_error_of(errno) : WASI_OK;
}

/* ---- opening ---- */

#define FOLLOW 1u

#define OPEN_CREATE    1u
#define OPEN_DIRECTORY 2u
#define OPEN_EXCLUSIVE 4u
#define OPEN_TRUNCATE  8u
#define OPEN_FLAGS     15u

#define FDFLAG_APPEND	1u
#define FDFLAG_NONBLOCK 4u
#define FDFLAGS		31u

#define READS (WASI_RIGHT_READ | WASI_RIGHT_READDIR)
#define WRITES                                                          \
	(WASI_RIGHT_WRITE | WASI_RIGHT_DATASYNC | WASI_RIGHT_ALLOCATE | \
	 WASI_RIGHT_SET_SIZE)

/* Rights that mean something for a directory. */
#define DIRECTORY_RIGHTS                                          \
	(WASI_RIGHTS_ALL & ~(uint64_t)(WASI_RIGHT_READ | WRITES | \
				       WASI_RIGHT_SEEK | WASI_RIGHT_TELL))

/* Rights that mean something for a file. */
#define FILE_RIGHTS                                                            \
	((uint64_t)(WASI_RIGHT_READ | WRITES | WASI_RIGHT_SEEK |               \
		    WASI_RIGHT_TELL | WASI_RIGHT_SET_FLAGS | WASI_RIGHT_SYNC | \
		    WASI_RIGHT_ADVISE | WASI_RIGHT_STAT |                      \
		    WASI_RIGHT_SET_TIMES | WASI_RIGHT_POLL))

static uint64_t
linux_flags(uint32_t flags, uint32_t oflags, uint64_t rights, uint32_t fdflags)
{
	bool writes = rights & WRITES && !(oflags & OPEN_DIRECTORY);
	uint64_t out = O_NOCTTY;

	out |= !writes ? O_RDONLY : rights & READS ? O_RDWR : O_WRONLY;
	out |= flags & FOLLOW ? 0 : O_NOFOLLOW;
	out |= oflags & OPEN_CREATE ? O_CREAT : 0;
	out |= oflags & OPEN_DIRECTORY ? O_DIRECTORY : 0;
	out |= oflags & OPEN_EXCLUSIVE ? O_EXCL : 0;
	out |= oflags & OPEN_TRUNCATE ? O_TRUNC : 0;
	out |= fdflags & FDFLAG_APPEND ? O_APPEND : 0;
	out |= fdflags & FDFLAG_NONBLOCK ? O_NONBLOCK : 0;
	return out;
}

static uint64_t
needed_rights(uint32_t oflags)
{
	return WASI_RIGHT_OPEN |
	       (oflags & OPEN_CREATE ? WASI_RIGHT_CREATE_FILE : 0) |
	       (oflags & OPEN_TRUNCATE ? WASI_RIGHT_PATH_SET_SIZE : 0);
}

uint32_t
wasi_path_open(struct wasi *w, uint32_t fd, uint32_t flags, uint32_t path,
	       uint32_t len, uint32_t oflags, uint64_t rights,
	       uint64_t inheriting, uint32_t fdflags, uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, 4);
	struct wasi_fd f = { .kind = WASI_FILE };
	uint32_t error, number;
	struct stat st;
	struct path p;

	if (flags & ~FOLLOW || oflags & ~OPEN_FLAGS || fdflags & ~FDFLAGS)
		return WASI_INVAL;
	error = path_get(w, &p, fd, needed_rights(oflags), path, len);
	if (error)
		return error;
	if (!out)
		return WASI_FAULT;
	rights &= p.dir->inheriting;
	f.inheriting = inheriting & p.dir->inheriting;
	/* The umask of the jail applies. */
	f.host = open_beneath(p.dir, p.text,
			      linux_flags(flags, oflags, rights, fdflags),
			      oflags & OPEN_CREATE ? 0666 : 0);
	if (f.host < 0)
		return path_error(p.dir);
	if (fstat(f.host, &st) < 0) {
		error = wasi_error_of(errno);
		close(f.host);
		return error;
	}
	if (S_ISDIR(st.st_mode))
		f.kind = WASI_DIRECTORY;
	f.rights = rights &
		   (f.kind == WASI_DIRECTORY ? DIRECTORY_RIGHTS : FILE_RIGHTS);
	error = wasi_add(w, &f, &number);
	if (!error)
		memcpy(out, &number, sizeof(number));
	return error;
}

/* ---- attributes ---- */

/* Opens what a path leads to, without access to its contents. */
static uint32_t
open_path(struct wasi *w, int *out, uint32_t fd, uint64_t right, uint32_t flags,
	  uint32_t path, uint32_t len)
{
	struct path p;
	uint32_t error;

	if (flags & ~FOLLOW)
		return WASI_INVAL;
	error = path_get(w, &p, fd, right, path, len);
	if (error)
		return error;
	*out = open_beneath(p.dir, p.text,
			    O_PATH | (flags & FOLLOW ? 0 : O_NOFOLLOW), 0);
	return *out < 0 ? path_error(p.dir) : WASI_OK;
}

uint32_t
wasi_path_filestat_get(struct wasi *w, uint32_t fd, uint32_t flags,
		       uint32_t path, uint32_t len, uint32_t out_at)
{
	unsigned char *out = wasi_span(w, out_at, WASI_STAT_SIZE);
	own_fd int host = -1;
	struct stat st;
	uint32_t error;

	error = open_path(w, &host, fd, WASI_RIGHT_PATH_STAT, flags, path, len);
	if (error)
		return error;
	if (!out)
		return WASI_FAULT;
	if (fstat(host, &st) < 0)
		return wasi_error_of(errno);
	wasi_put_stat(out, &st);
	return WASI_OK;
}

uint32_t
wasi_path_filestat_set_times(struct wasi *w, uint32_t fd, uint32_t flags,
			     uint32_t path, uint32_t len, uint64_t atim,
			     uint64_t mtim, uint32_t time_flags)
{
	struct timespec times[2];
	own_fd int host = -1;
	uint32_t error = wasi_times(times, atim, mtim, time_flags);

	if (!error)
		error = open_path(w, &host, fd, WASI_RIGHT_PATH_SET_TIMES,
				  flags, path, len);
	if (error)
		return error;
	return result_of(utimensat(host, "", times, AT_EMPTY_PATH));
}

/* ---- changes of directories ---- */

uint32_t
wasi_path_create_directory(struct wasi *w, uint32_t fd, uint32_t path,
			   uint32_t len)
{
	own(place) struct place p = PLACE_INIT;
	uint32_t error =
		place_get(w, &p, fd, WASI_RIGHT_CREATE_DIRECTORY, path, len);

	return error ? error : result_of(mkdirat(p.parent, p.name, 0777));
}

uint32_t
wasi_path_remove_directory(struct wasi *w, uint32_t fd, uint32_t path,
			   uint32_t len)
{
	own(place) struct place p = PLACE_INIT;
	uint32_t error =
		place_get(w, &p, fd, WASI_RIGHT_REMOVE_DIRECTORY, path, len);

	return error ? error
		     : result_of(unlinkat(p.parent, p.name, AT_REMOVEDIR));
}

uint32_t
wasi_path_unlink_file(struct wasi *w, uint32_t fd, uint32_t path, uint32_t len)
{
	own(place) struct place p = PLACE_INIT;
	uint32_t error = place_get(w, &p, fd, WASI_RIGHT_UNLINK, path, len);

	if (!error && p.must_be_directory)
		error = WASI_NOTDIR;
	return error ? error : result_of(unlinkat(p.parent, p.name, 0));
}

uint32_t
wasi_path_rename(struct wasi *w, uint32_t old_fd, uint32_t old,
		 uint32_t old_len, uint32_t new_fd, uint32_t new,
		 uint32_t new_len)
{
	own(place) struct place from = PLACE_INIT;
	own(place) struct place to = PLACE_INIT;
	uint32_t error = place_get(w, &from, old_fd, WASI_RIGHT_RENAME_SOURCE,
				   old, old_len);

	if (!error)
		error = place_get(w, &to, new_fd, WASI_RIGHT_RENAME_TARGET, new,
				  new_len);
	return error ? error
		     : result_of(renameat(from.parent, from.name, to.parent,
					  to.name));
}

/* The kernel would follow a link in `old` anywhere in the jail, so only the
   link itself can be linked. */
uint32_t
wasi_path_link(struct wasi *w, uint32_t old_fd, uint32_t flags, uint32_t old,
	       uint32_t old_len, uint32_t new_fd, uint32_t new,
	       uint32_t new_len)
{
	own(place) struct place from = PLACE_INIT;
	own(place) struct place to = PLACE_INIT;
	uint32_t error;

	if (flags)
		return WASI_INVAL;
	error = place_get(w, &from, old_fd, WASI_RIGHT_LINK_SOURCE, old,
			  old_len);
	if (!error)
		error = place_get(w, &to, new_fd, WASI_RIGHT_LINK_TARGET, new,
				  new_len);
	if (!error && (from.must_be_directory || to.must_be_directory))
		error = WASI_NOTDIR;
	return error ? error
		     : result_of(linkat(from.parent, from.name, to.parent,
					to.name, 0));
}

/* The target may be any text: it is resolved like other paths when it is
   used. */
uint32_t
wasi_path_symlink(struct wasi *w, uint32_t target, uint32_t target_len,
		  uint32_t fd, uint32_t path, uint32_t len)
{
	const unsigned char *from = wasi_span(w, target, target_len);
	own(place) struct place p = PLACE_INIT;
	char text[PATH_MAX];
	uint32_t error = place_get(w, &p, fd, WASI_RIGHT_SYMLINK, path, len);

	if (error)
		return error;
	if (!from)
		return WASI_FAULT;
	if (!target_len)
		return WASI_NOENT;
	if (target_len >= sizeof(text))
		return WASI_NAMETOOLONG;
	if (memchr(from, 0, target_len))
		return WASI_INVAL;
	if (p.must_be_directory)
		return WASI_NOTDIR;
	memcpy(text, from, target_len);
	text[target_len] = '\0';
	return result_of(symlinkat(text, p.parent, p.name));
}

uint32_t
wasi_path_readlink(struct wasi *w, uint32_t fd, uint32_t path, uint32_t len,
		   uint32_t buf, uint32_t buf_len, uint32_t out_at)
{
	unsigned char *to = wasi_span(w, buf, buf_len);
	unsigned char *out = wasi_span(w, out_at, 4);
	own(place) struct place p = PLACE_INIT;
	uint32_t error = place_get(w, &p, fd, WASI_RIGHT_READLINK, path, len);
	uint32_t count;
	ssize_t n;

	if (error)
		return error;
	if (!to || !out)
		return WASI_FAULT;
	n = readlinkat(p.parent, p.name, (char *)to, buf_len);
	if (n < 0)
		return wasi_error_of(errno);
	count = (uint32_t)n;
	memcpy(out, &count, sizeof(count));
	return WASI_OK;
}
