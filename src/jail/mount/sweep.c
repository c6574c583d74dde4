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
	uint64_t number; /* of the next folder that is moved to the top */
	bool moved;	 /* something is gone from where it was */
};

/*
 * Its owner may have taken its own rights away. By way of /proc, since a
 * descriptor that needs no right to open cannot be used to give any, and a
 * name could be a link.
 */
static void
give_rights(int folder)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
	/* If it fails, so does what comes next. */
	if (chmod(path, 0700) < 0)
		errno = 0;
}

static DIR *
open_folder(int at, const char *name)
{
	own_fd int place =
		openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own_fd int folder = -1;
	DIR *d;

	if (place < 0)
		return NULL;
	give_rights(place);
	folder = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = folder < 0 ? NULL : fdopendir(folder);
	if (d)
		take_fd(&folder);
	return d;
}

static bool
remove_one(int at, const char *name)
{
	return unlinkat(at, name, 0) == 0 ||
	       unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* A folder that is moved must be writable: its ".." changes. */
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
	/* The code may have used the name; an empty folder is replaced. */
	do {
		snprintf(fresh, sizeof(fresh), "%llu",
			 (unsigned long long)s->number++);
		failed = renameat(at, name, s->top, fresh);
	} while (failed &&
		 (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
	return !failed;
}

/* Everything in one folder of the top: gone, or at the top itself. */
static void
flatten(struct sweeper *s, const char *name)
{
	DIR *d = open_folder(s->top, name);
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
sweep(int folder)
{
	struct sweeper s = { .top = folder, .moved = true };
	bool left = true;

	while (left && s.moved) {
		int again =
			openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
			if (remove_one(folder, e->d_name))
				s.moved = true;
			else
				flatten(&s, e->d_name);
		}
		closedir(d);
	}
	if (left)
		errno = ENOTEMPTY;
	return left ? -1 : 0;
}
