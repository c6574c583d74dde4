/*
 * jail_attach: mounts a package layer in a jail in which code runs.
 *
 * The keeper makes a detached, read-only mount of the layer. A helper process
 * enters the user and mount namespaces of the jail, and attaches the mount to a
 * directory that was empty until now. It is the keeper's own code, does not
 * enter the pid namespace of the jail, so that the code can neither see nor
 * signal it, and exits at once.
 *
 * Every mount of a jail is private, and so is this one. So it appears neither
 * on the host nor in other jails, except in branches, whose mounts are copies.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file/beneath.h"
#include "base/proc.h"
#include "jail/linux_abi.h"
#include "jail/part.h"

static int
enter_mounts(const struct jail *j)
{
	if (setns(j->entry[JOIN_USER_NS], CLONE_NEWUSER) < 0)
		return -1;
	/* This also makes the root of the jail the root of this process. */
	return setns(j->entry[JOIN_MOUNT_NS], CLONE_NEWNS);
}

static int
check_same_directory(int a, int b)
{
	struct stat x, y;

	if (fstat(a, &x) < 0 || fstat(b, &y) < 0)
		return -1;
	if (x.st_dev == y.st_dev && x.st_ino == y.st_ino)
		return 0;
	errno = ESTALE;
	return -1;
}

/* `path` is relative to the root of the jail. */
static int
attach(int mount, const char *path)
{
	own_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	own_fd int slot = -1, now = -1;
	char absolute[64];

	/* This fails with EXDEV if something is mounted there already. */
	slot = root < 0 ? -1
			: beneath_open(root, path,
				       O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (slot < 0 ||
	    move_mount(mount, "", slot, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -1;
	snprintf(absolute, sizeof(absolute), "/%s", path);
	now = open(absolute, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return now < 0 ? -1 : check_same_directory(mount, now);
}

static void __attribute__((noreturn))
helper_main(const struct jail *j, int mount, const char *path)
{
	if (enter_mounts(j) < 0 || attach(mount, path) < 0)
		_exit(errno);
	_exit(0);
}

int
jail_attach(const struct jail *j, int directory, size_t slot,
	    struct remit_error *err)
{
	own_fd int mount = -1;
	int status = 0;
	char path[64];
	pid_t helper;

	if (j->entry[JOIN_USER_NS] < 0 || j->entry[JOIN_MOUNT_NS] < 0)
		return fail(err, REMIT_E_INTERNAL,
			    "the jail was not made for more packages");
	snprintf(path, sizeof(path), "%s/%zu", &JAIL_INSTALLED[1], slot);
	mount = blueprint_detach(directory, err);
	if (mount < 0)
		return -1;
	helper = fork();
	if (helper < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	if (helper == 0)
		helper_main(j, mount, path);
	if (proc_wait(helper, &status) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	return fail_sys(err, REMIT_E_KERNEL, "mount packages in the jail");
}
