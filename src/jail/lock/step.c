#include "jail/lock/step.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/frame.h"

const struct step steps[STEP_COUNT] = {
	[STEP_RESOLVE] = {
		"resolve host folders", STAGE_KEEPER, CAN_MOUNT,
		"each path is opened once and that descriptor is mounted, so a "
		"path that is replaced later changes nothing",
	},
	[STEP_CLONE] = {
		"create namespaces", STAGE_KEEPER, CAN_USER_NAMESPACE,
		"all at once, so that pid 1 starts inside all of them",
	},
	[STEP_MAPS] = {
		"map user and group", STAGE_KEEPER, CAN_ID_MAPS,
		"pid 1 waits for it: files made earlier would have no owner",
	},
	[STEP_GROUPS] = {
		"join the cgroups",
		STAGE_BUILD,
		CAN_CGROUP_MEMORY,
		"by itself and first: if another process moved it, the kernel "
		"would wait for a grace period, and so would the fork below",
	},
	[STEP_MEMFD_NOEXEC] = {
		"forbid executing memory files", STAGE_BUILD, CAN_MEMFD_NOEXEC,
		"only root may write the file, so before giving up uid 0",
	},
	[STEP_IDS] = {
		"become the jail's user", STAGE_BUILD, CAN_ID_MAPS,
		"before any file is made; if started by root, this gives up "
		"uid 0",
	},
	[STEP_PRIVATE_MOUNTS] = {
		"make mounts private", STAGE_BUILD, CAN_MOUNT,
		"before the first mount, which would otherwise spread to the "
		"host",
	},
	[STEP_ROOT] = {
		"mount the root", STAGE_BUILD, CAN_MOUNT,
		"an empty tmpfs: only what is put there is visible",
	},
	[STEP_LINKS] = {
		"make links and files", STAGE_BUILD, CAN_MOUNT,
		"before mounts at paths that lead through a link",
	},
	[STEP_NETWORK] = {
		"open network listeners", STAGE_BUILD, CAN_NETWORK_NAMESPACE,
		"if the plan names hosts; needs capabilities that are dropped "
		"later, and no code runs yet that could open them first",
	},
	[STEP_WORKSPACE] = {
		"mount the workspace", STAGE_BUILD, CAN_MOUNT,
		"one tmpfs with limits for everything that can be written; "
		"before the mounts below /tmp or the workspace",
	},
	[STEP_OVERLAYS] = {
		"put overlays over folders", STAGE_BUILD, CAN_OVERLAY,
		"in the workspace's file system, so after it; before the "
		"folder is mounted in its place",
	},
	[STEP_RUNTIME] = {
		"mount the runtime and named folders", STAGE_BUILD, CAN_MOUNT,
		"read-only or under an overlay already, so the host's folder "
		"is never writable, unless the mode is direct",
	},
	[STEP_DEVICES] = {
		"mount devices", STAGE_BUILD, CAN_MOUNT,
		"only null, random, urandom and zero",
	},
	[STEP_NO_USER_NAMESPACES] = {
		"forbid user namespaces inside", STAGE_BUILD,
		CAN_NO_USER_NAMESPACES_INSIDE,
		"while the host's /proc is still visible",
	},
	[STEP_PIVOT] = {
		"leave the host's root", STAGE_BUILD, CAN_PIVOT_ROOT,
		"after all mounts; chroot alone could be undone",
	},
	[STEP_READ_ONLY] = {
		"make the root read-only", STAGE_BUILD, CAN_MOUNT,
		"after the last mount point has been made in it",
	},
	[STEP_HOSTNAME] = {
		"set the host name", STAGE_BUILD, CAN_USER_NAMESPACE,
		"needs capabilities that are dropped next",
	},
	[STEP_LANDLOCK_RULES] = {
		"prepare Landlock rules", STAGE_BUILD, CAN_LANDLOCK,
		"paths are opened under the new root; the rules are applied "
		"later",
	},
	[STEP_FORK] = {
		"start pid 2", STAGE_BUILD, CAN_PID_NAMESPACE,
		"pid 1 remains as the reaper with the lifeline",
	},
	[STEP_ONE_THREAD] = {
		"check for a single thread", STAGE_JOIN, CAN_SELF_TEST,
		"a fork copies only one thread: locks of the others would stay "
		"locked for ever",
	},
	[STEP_JOIN_GROUPS] = {
		"join the cgroups, warm", STAGE_JOIN, CAN_CGROUP_MEMORY,
		"before the fork, so that the child starts inside",
	},
	[STEP_JOIN] = {
		"join the jail", STAGE_JOIN, CAN_USER_NAMESPACE,
		"the user namespace first, since it gives the right to join "
		"the others; the pid namespace applies to the next child",
	},
	[STEP_WARM_FORK] = {
		"fork into the jail", STAGE_JOIN, CAN_PID_NAMESPACE,
		"with the C library's fork, so that all fork handlers run",
	},
	[STEP_JAIL_USER] = {
		"become the jail's user, warm", STAGE_JOIN, CAN_ID_MAPS,
		"before anything else in the jail is touched",
	},
	[STEP_SESSION] = {
		"new session, signals reset", STAGE_ENTER, CAN_RLIMITS,
		"no terminal, no inherited mask or handler",
	},
	[STEP_KEYRING] = {
		"new session keyring", STAGE_ENTER, CAN_RLIMITS,
		"the filter forbids keyctl later, and the caller's keys would "
		"stay readable",
	},
	[STEP_STDIO] = {
		"connect standard streams", STAGE_ENTER, CAN_RLIMITS,
		"new pipes; every other descriptor closes at exec",
	},
	[STEP_WORKDIR] = {
		"enter the workspace", STAGE_ENTER, CAN_MOUNT,
		"after pivot_root, so that the process keeps no folder of the "
		"host",
	},
	[STEP_RLIMITS] = {
		"set resource limits", STAGE_ENTER, CAN_RLIMITS,
		"inside the user namespace, since RLIMIT_NPROC would otherwise "
		"count the caller's processes; all but the limit on open files",
	},
	[STEP_AFFINITY] = {
		"choose processors", STAGE_ENTER, CAN_RLIMITS,
		"the filter forbids changing it later",
	},
	[STEP_CAPABILITIES] = {
		"drop all capabilities", STAGE_ENTER, CAN_RLIMITS,
		"after the last step that needs one",
	},
	[STEP_NO_NEW_PRIVS] = {
		"no new privileges", STAGE_ENTER, CAN_SECCOMP,
		"Landlock and the filter require it, and without it a setuid "
		"file could undo them",
	},
	[STEP_DIE_WITH_KEEPER] = {
		"die with the keeper", STAGE_ENTER, CAN_LANDLOCK_TIER,
		"bare jails and zygotes, which no pid 1 kills; a change of "
		"user or capabilities would undo it, so after those",
	},
	[STEP_EXEC] = {
		"execute the interpreter", STAGE_ENTER, CAN_SELF_TEST,
		"with an empty environment, before the filter forbids exec",
	},
	[STEP_PARAMS] = {
		"read the keeper's parameters", STAGE_LOCK, CAN_SELF_TEST,
		"fixed size, from the keeper only",
	},
	[STEP_CLOSE] = {
		"close descriptors", STAGE_LOCK, CAN_SELF_TEST,
		"an open folder would be a way out",
	},
	[STEP_LANDLOCK] = {
		"apply Landlock", STAGE_LOCK, CAN_LANDLOCK,
		"after exec and mounts, which it forbids",
	},
	[STEP_SECCOMP] = {
		"load the filter", STAGE_LOCK, CAN_SECCOMP,
		"last, since it forbids most of the steps above; then the "
		"limit on open files, which would prevent sending the "
		"listener, and a second filter that forbids both",
	},
	[STEP_SELF_TEST] = {
		"self-test", STAGE_LOCK, CAN_SELF_TEST,
		"only an attempt from inside proves the lock-down",
	},
	[STEP_READY] = { "ready", STAGE_LOCK, CAN_SELF_TEST, "" },
};

int
step_send_report(int channel, const struct step_report *r)
{
	unsigned char frame[FRAME_HEADER + sizeof(*r)];

	frame_header(frame, FRAME_REPORT, sizeof(*r));
	memcpy(frame + FRAME_HEADER, r, sizeof(*r));
	return send(channel, frame, sizeof(frame), MSG_NOSIGNAL) ==
			       (ssize_t)sizeof(frame)
		       ? 0
		       : -1;
}

int
step_failed_at(struct remit_error *err, enum step_id step)
{
	snprintf(err->where, sizeof(err->where), "%s", steps[step].name);
	return -1;
}

enum step_id
step_of_error(const struct remit_error *err)
{
	for (int i = 0; i < STEP_READY; i++)
		if (!strcmp(steps[i].name, err->where))
			return (enum step_id)i;
	return STEP_READY;
}

pid_t
exit_report_wait(struct exit_report *out)
{
	struct rusage used;
	int status;
	pid_t pid = wait4(-1, &status, WNOHANG, &used);

	if (pid <= 0)
		return pid;
	*out = (struct exit_report){
		.wait_status = status,
		.pid = pid,
		.max_rss_kib = (uint32_t)used.ru_maxrss,
		.cpu_us = (uint64_t)(used.ru_utime.tv_sec +
				     used.ru_stime.tv_sec) *
				  1000000 +
			  (uint64_t)(used.ru_utime.tv_usec +
				     used.ru_stime.tv_usec),
	};
	return pid;
}

#ifdef REMIT_HOLES
static bool
step_is_named(const char *variable, enum step_id step)
{
	const char *name = getenv(variable);

	return name && !strcmp(name, steps[step].name);
}

static void
wait_for_test(void)
{
	struct timespec long_enough = { .tv_sec = 600 };
	sigset_t on;

	sigemptyset(&on);
	sigaddset(&on, SIGCONT);
	sigprocmask(SIG_BLOCK, &on, NULL);
	prctl(PR_SET_NAME, "remit-waits", 0, 0, 0);
	sigtimedwait(&on, NULL, &long_enough);
}

bool
step_is_to_fail(enum step_id step)
{
	static bool has_waited;

	if (!has_waited && step_is_named("REMIT_WAIT_STEP", step)) {
		has_waited = true;
		wait_for_test();
	}
	if (!step_is_named("REMIT_FAIL_STEP", step))
		return false;
	errno = EIO;
	return true;
}
#endif
