#include "jail/cgroup/leaf.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/own.h"
#include "jail/cgroup/home.h"
#include "jail/cgroup/scope.h"

/* No other process is in this group. */
static bool
is_alone(const char *directory)
{
	char path[PATH_MAX + 16], text[32], own[16];
	own_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	snprintf(own, sizeof(own), "%d\n", (int)getpid());
	return !strcmp(text, own);
}

/* Whoever cleans up takes an unlocked directory for left over: the descriptor
   stays open as long as this process lives. */
static bool
move_below(const char *directory)
{
	char path[PATH_MAX + 64];
	own_fd int leaf = -1, procs = -1;
	size_t n;

	n = (size_t)snprintf(path, sizeof(path),
			     "%s/" CGROUP_PREFIX "keeper-%d", directory,
			     (int)getpid());
	if (n >= sizeof(path) || (mkdir(path, 0755) < 0 && errno != EEXIST))
		return false;
	leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0 || flock(leaf, LOCK_EX | LOCK_NB) < 0)
		return false;
	procs = openat(leaf, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs < 0 || write(procs, "0", 1) != 1) {
		rmdir(path);
		return false;
	}
	take_fd(&leaf);
	return true;
}

/*
 * A group in which nobody else is, and which systemd gave away. Its manager of
 * a user does not mark what it gives; there all groups are the user's, and
 * this one serves nobody but us.
 */
static bool
is_ours_alone(const char *directory)
{
	return is_alone(directory) &&
	       (cgroup_home_is_given(directory) ||
		(geteuid() != 0 && access(directory, W_OK) == 0));
}

bool
cgroup_leaf_enter(void)
{
	char own[PATH_MAX], home[PATH_MAX];

	if (access("/run/systemd/system", F_OK) < 0 ||
	    cgroup_home_own(own, sizeof(own)) < 0 ||
	    cgroup_home_directory(home, sizeof(home)) < 0 ||
	    strcmp(own, home) != 0)
		return false;
	if (!is_ours_alone(own) &&
	    (scope_enter() < 0 || cgroup_home_own(own, sizeof(own)) < 0 ||
	     !is_ours_alone(own)))
		return false;
	return cgroup_home_mark(own) == 0 && move_below(own);
}
