#include "jail/lock/join.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/inside.h"
#include "jail/lock/lock.h"

const struct join_space join_spaces[JOIN_SPACES] = {
	{ JOIN_USER_NS, CLONE_NEWUSER, "user" },
	{ JOIN_MOUNT_NS, CLONE_NEWNS, "mnt" },
	{ JOIN_IPC_NS, CLONE_NEWIPC, "ipc" },
	{ JOIN_UTS_NS, CLONE_NEWUTS, "uts" },
	{ JOIN_PID_NS, CLONE_NEWPID, "pid" },
	{ JOIN_NET_NS, CLONE_NEWNET, "net" },
};

bool
join_is_single_threaded(void)
{
	/* The call fails in a process with several threads, and otherwise has
	   no effect. */
	return unshare(CLONE_THREAD) == 0;
}

static bool
join_is_to_fail(const struct join_command *cmd, enum step_id step,
		struct step_report *failed)
{
	failed->step = step;
	failed->detail = 0;
	errno = EIO;
	return cmd->params.fail_step == step;
}

/* Runs in the helper, which never leaves these namespaces. */
static int
join_namespaces(const struct join_command *cmd, const int fds[JOIN_FDS],
		struct step_report *failed)
{
	if (join_is_to_fail(cmd, STEP_JOIN, failed))
		return -1;
	for (int i = 0; i < JOIN_SPACES; i++) {
		enum join_fd fd = join_spaces[i].fd;

		failed->detail = (uint32_t)i + 1;
		/* Without network, stay in the zygote's network namespace,
		   which is empty. */
		if (fd == JOIN_NET_NS && fds[JOIN_NET_NS] < 0)
			continue;
		if (setns(fds[fd], join_spaces[i].type) < 0)
			return -1;
	}
	return 0;
}

/* fork() runs the libraries' fork handlers, and one may hang. vfork() runs
   none, so only the helper can hang: it dies with the zygote, or, for a branch,
   with the jail. */
static pid_t __attribute__((noinline))
join_helper_main(const struct join_command *cmd, const int fds[JOIN_FDS],
		 pid_t zygote, struct step_report *failed)
{
	pid_t pid = -1;

	if (join_namespaces(cmd, fds, failed) == 0 &&
	    !join_is_to_fail(cmd, STEP_WARM_FORK, failed) &&
	    (cmd->params.branch || enter_die_with(zygote) == 0))
		pid = fork();
	failed->sys_errno = errno;
	return pid;
}

/* The child joins the cgroups itself, as in the cold path: see
   cgroup_open_joins(). */
static int
join_groups(const struct join_command *cmd, const int fds[JOIN_FDS],
	    struct step_report *failed)
{
	if (join_is_to_fail(cmd, STEP_JOIN_GROUPS, failed))
		return -1;
	for (int i = JOIN_GROUP; i < JOIN_FDS; i++) {
		failed->detail = (uint32_t)(i - JOIN_GROUP) + 1;
		if (fds[i] >= 0 && write(fds[i], "0", 1) != 1)
			return -1;
	}
	return 0;
}

static int
become_jail_user(const struct join_command *cmd, struct step_report *failed)
{
	uint32_t uid = cmd->params.uid;

	if (join_is_to_fail(cmd, STEP_JAIL_USER, failed))
		return -1;
	if (setresgid(uid, uid, uid) < 0)
		return -1;
	return setresuid(uid, uid, uid);
}

/* Runs in the child. If it fails, it reports the error to the keeper and
   exits. */
static void
lock_child(const struct join_command *cmd, const int fds[JOIN_FDS])
{
	struct enter_ends ends = { fds[JOIN_IN],      fds[JOIN_OUT],
				   fds[JOIN_ERR],     fds[JOIN_CHANNEL],
				   fds[JOIN_RULESET], -1 };
	struct step_report report = { 0 };

	if (join_groups(cmd, fds, &report) < 0 ||
	    (!cmd->params.branch && become_jail_user(cmd, &report) < 0) ||
	    enter_run(&cmd->params, &ends, &report.step, &report.detail) < 0) {
		report.sys_errno = errno;
		step_send_report(ends.channel, &report);
		_exit(1);
	}
	if (lock_down(&cmd->params, &report) < 0)
		_exit(1);
}

void
join_injected(const struct join_command *cmd, int fds[JOIN_FDS])
{
	for (int i = 0; i < JOIN_FDS; i++)
		fds[i] = cmd->has & UINT32_C(1) << i ? JOIN_FIRST_FD + i : -1;
}

pid_t
join_fork(const struct join_command *cmd, const int fds[JOIN_FDS],
	  struct step_report *failed)
{
	volatile pid_t child = -1;
	pid_t helper, self = getpid();

	/* If this is for a branch, the keeper has counted the threads. */
	if (join_is_to_fail(cmd, STEP_ONE_THREAD, failed) ||
	    (!cmd->params.branch && !join_is_single_threaded())) {
		failed->sys_errno = errno;
		return -1;
	}
	/* POSIX allows only exec after vfork. Linux and the C library allow
	   more (vfork(2)): the helper uses our memory while we wait, and
	   changes only what it returns to us and what fork() itself changes. */
	helper = vfork(); /* NOLINT */
	if (helper == 0) {
		child = join_helper_main(cmd, fds, self, failed); /* NOLINT */
		if (child)
			_exit(0);
		/* From here on this is a separate process with its own
		   memory. */
		lock_child(cmd, fds);
		return 0;
	}
	if (helper < 0) {
		failed->step = STEP_WARM_FORK;
		failed->sys_errno = errno;
		return -1;
	}
	while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
		;
	return child;
}
