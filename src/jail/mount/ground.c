#include "jail/mount/ground.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

#include "jail/lock/step.h"
#include "jail/mount/idmap.h"

static int
deny_setgroups(struct remit_error *err)
{
	own_fd int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "deny", 4) != 4)
		return fail_sys(err, REMIT_E_KERNEL, "write setgroups");
	return 0;
}

int
ground_enter(bool own_network, struct remit_error *err)
{
	int network = own_network ? CLONE_NEWNET : 0;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(network | (uid ? CLONE_NEWUSER | CLONE_NEWNS : 0)) < 0) {
		fail_sys(err, REMIT_E_KERNEL, "create the keeper's namespaces");
		return step_failed_at(err, STEP_CLONE);
	}
	if (uid == 0)
		return 0;
	if (deny_setgroups(err) < 0 ||
	    idmap_write(getpid(), uid, uid, gid, gid, err) < 0)
		return step_failed_at(err, STEP_MAPS);
	/* Mounts made later on the host still appear here; mounts made here do
	   not appear on the host. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) {
		fail_sys(err, REMIT_E_KERNEL,
			 "make all mounts slaves (MS_SLAVE)");
		return step_failed_at(err, STEP_PRIVATE_MOUNTS);
	}
	return 0;
}
