#include "jail/mount/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/own.h"

struct sweeper {
	int top;
	uint64_t number; /* for the next directory moved to the top */
	bool moved;	 /* something was removed or moved in this round */
};

/*
 * The directory's owner may have removed its own permissions. chmod goes
 * through /proc: an O_PATH descriptor, which needs no permission to open,
 * cannot be used for fchmod, and the name could be a link.
 */
static void
give_rights(int directory)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	/* If this fails, the next step fails too. */
	if (chmod(path, 0700) < 0)
		errno = 0;
}

static DIR *
open_writable_directory(int at, const char *name)
{
	own_fd int place =
		openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own_fd int directory = -1;
	DIR *d;

	if (place < 0)
		return NULL;
	give_rights(place);
	directory = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = directory < 0 ? NULL : fdopendir(directory);
	if (d)
		take_fd(&directory);
	return d;
}

static bool
remove_one(int at, const char *name)
{
	return unlinkat(at, name, 0) == 0 ||
	       unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* A directory that is moved must be writable, since its ".." changes. */
static bool
move_up(struct sweeper *s, int at, const char *name)
{
	own_fd int place =
		openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char fresh[32];
	int failed;

	if (place < 0)
		return false;
	give_rights(place);
	/* The code may have used this name. rename() replaces an empty
	   directory. */
	do {
		snprintf(fresh, sizeof(fresh), "%llu",
			 (unsigned long long)s->number++);
		failed = renameat(at, name, s->top, fresh);
	} while (failed &&
		 (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
	return !failed;
}

/* Remove everything in one directory of the top, or move it up to the top. */
static void
flatten_directory(struct sweeper *s, const char *name)
{
	DIR *d = open_writable_directory(s->top, name);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!beneath_is_dots(e->d_name) &&
		    (remove_one(dirfd(d), e->d_name) ||
		     move_up(s, dirfd(d), e->d_name)))
			s->moved = true;
	if (d)
		closedir(d);
	if (unlinkat(s->top, name, AT_REMOVEDIR) == 0)
		s->moved = true;
}

int
sweep(int directory)
{
	struct sweeper s = { .top = directory, .moved = true };
	bool left = true;

	while (left && s.moved) {
		int again = openat(directory, ".",
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *d = again < 0 ? NULL : fdopendir(again);
		struct dirent *e;

		left = s.moved = false;
		if (!d) {
			own_fd_close(&again);
			return -1;
		}
		while ((e = readdir(d))) {
			if (beneath_is_dots(e->d_name))
				continue;
			left = true;
			if (remove_one(directory, e->d_name))
				s.moved = true;
			else
				flatten_directory(&s, e->d_name);
		}
		closedir(d);
	}
	if (left)
		errno = ENOTEMPTY;
	return left ? -1 : 0;
}
