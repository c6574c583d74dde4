#include "jail/mount/idmap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "jail/linux_abi.h"

static int
write_map(pid_t pid, const char *name, uint32_t inside, uint32_t outside,
	  struct remit_error *err)
{
	own_fd int fd = -1;
	char path[64], line[48];
	int n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", name);
	n = snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	if (write(fd, line, (size_t)n) != n)
		return fail_sys(err, REMIT_E_KERNEL, "write %s \"%u %u 1\"",
				name, inside, outside);
	return 0;
}

static int
write_map_at(int proc, pid_t pid, const char *name, const char *line)
{
	own_fd int fd = -1;
	char path[64];
	ssize_t n = (ssize_t)strlen(line);

	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(proc, path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, line, (size_t)n) == n ? 0 : -1;
}

int
idmap_write_at(int proc, pid_t pid, uint32_t inside, uint32_t outside)
{
	char line[48];

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	if (write_map_at(proc, pid, "gid_map", line) < 0)
		return -1;
	return write_map_at(proc, pid, "uid_map", line);
}

int
idmap_write(pid_t pid, uint32_t inside_uid, uint32_t outside_uid,
	    uint32_t inside_gid, uint32_t outside_gid, struct remit_error *err)
{
	if (write_map(pid, "gid_map", inside_gid, outside_gid, err) < 0)
		return -1;
	return write_map(pid, "uid_map", inside_uid, outside_uid, err);
}

int
idmap_make(int *out, uint32_t owner, uint32_t group, uint32_t jail_uid,
	   struct remit_error *err)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER,
		.exit_signal = SIGCHLD,
	};
	char path[64];
	int fd, status = 0;
	pid_t pid, parent = getpid();

	pid = sys_clone3(&args);
	if (pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "clone for an idmap");
	if (pid == 0) {
		/* Keep none of the keeper's descriptors, and die with the
		   keeper. */
		syscall(SYS_close_range, 0, ~0u, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	fd = -1;
	if (idmap_write(pid, owner, jail_uid, group, jail_uid, err) == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			status = fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	} else {
		status = -1;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (status < 0)
		return -1;
	*out = fd;
	return 0;
}
