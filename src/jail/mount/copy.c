#include "jail/mount/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

/* While a file with several hard links is copied, this directory contains a
   link to it, named by its inode number. */
#define LINK_DIRECTORY ".links"
#define LINK_NAME      (sizeof(LINK_DIRECTORY) + 24)

static void
link_name(char out[LINK_NAME], const struct stat *st)
{
	snprintf(out, LINK_NAME, LINK_DIRECTORY "/%llu",
		 (unsigned long long)st->st_ino);
}

static int
copy_range(int from, int to, off_t at, off_t end)
{
	char piece[65536];

	while (at < end) {
		size_t most = end - at < (off_t)sizeof(piece)
				      ? (size_t)(end - at)
				      : sizeof(piece);
		ssize_t n = pread(from, piece, most, at);

		if (n <= 0)
			return (int)n; /* 0: the file is shorter now */
		if (pwrite(to, piece, (size_t)n, at) != n)
			return -1;
		at += n;
	}
	return 0;
}

/* Keep holes: they do not count against the size limit. */
static int
copy_bytes(int from, int to, off_t size)
{
	off_t at = 0;

	if (ftruncate(to, size) < 0)
		return -1;
	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);

		if (data < 0)
			return errno == ENXIO ? 0 : -1;
		if (hole < 0 || copy_range(from, to, data, hole) < 0)
			return -1;
		at = hole;
	}
	return 0;
}

static int
copy_attributes(int to, const struct stat *st)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };

	return fchmod(to, st->st_mode & 07777) < 0 ? -1 : futimens(to, times);
}

static int
copy_file(int from, const char *name, int to, const struct stat *st)
{
	own_fd int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	own_fd int out = openat(
		to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0600);

	if (in < 0 || out < 0 || copy_bytes(in, out, st->st_size) < 0)
		return -1;
	return copy_attributes(out, st);
}

static int
copy_symlink(int from, const char *name, int to, const struct stat *st)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	if (symlinkat(target, to, name) < 0)
		return -1;
	return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
}

static int
copy_node(int from, const char *name, int to, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return copy_file(from, name, to, st);
	if (S_ISLNK(st->st_mode))
		return copy_symlink(from, name, to, st);
	errno = EINVAL; /* the filter prevents code from making anything else */
	return -1;
}

/* Copy a file when its first name is met, and link its other names to that
   copy. */
static int
copy_linked(int from, const char *name, int to, int top, const struct stat *st)
{
	char kept[LINK_NAME];

	if (st->st_nlink < 2)
		return copy_node(from, name, to, st);
	link_name(kept, st);
	if (linkat(top, kept, to, name, 0) == 0)
		return 0;
	if (errno != ENOENT || copy_node(from, name, to, st) < 0)
		return -1;
	if (mkdirat(top, LINK_DIRECTORY, 0700) < 0 && errno != EEXIST)
		return -1;
	return linkat(to, name, top, kept, 0);
}

static int copy_directory(int from, int to, int top, int depth);

static int
copy_inner(int from, const char *name, int to, int top, int depth,
	   const struct stat *st)
{
	own_fd int in = openat(from, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own_fd int out = -1;

	if (in < 0 || mkdirat(to, name, 0700) < 0)
		return -1;
	out = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0 || copy_directory(in, out, top, depth + 1) < 0)
		return -1;
	return copy_attributes(out, st);
}

static int
copy_entry(int from, const char *name, int to, int top, int depth)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return S_ISDIR(st.st_mode) ? copy_inner(from, name, to, top, depth, &st)
				   : copy_linked(from, name, to, top, &st);
}

static int
copy_directory(int from, int to, int top, int depth)
{
	int own = fcntl(from, F_DUPFD_CLOEXEC, 0);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;
	int done = 0;

	if (!d || depth > COPY_DEPTH) {
		errno = d ? ELOOP : errno;
		if (d)
			closedir(d);
		return -1;
	}
	while (done == 0 && (errno = 0, e = readdir(d)))
		done = copy_entry(from, e->d_name, to, top, depth);
	if (errno)
		done = -1;
	closedir(d);
	return done;
}

int
copy_tree(int from, int to, const char *name)
{
	own_fd int directory = openat(
		to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (directory < 0 || fstat(from, &st) < 0 ||
	    copy_directory(from, directory, to, 0) < 0)
		return -1;
	return copy_attributes(directory, &st);
}

int
copy_end(int to)
{
	own_fd int links =
		openat(to, LINK_DIRECTORY,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *e;
	DIR *d;

	if (links < 0)
		return errno == ENOENT ? 0 : -1;
	d = fdopendir(links);
	if (!d)
		return -1;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(links, e->d_name, 0);
	take_fd(&links);
	closedir(d);
	return unlinkat(to, LINK_DIRECTORY, AT_REMOVEDIR);
}
