/*
 * unsafe: the tier without isolation. The interpreter is a plain child of the
 * keeper with the caller's user, environment and file system.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "jail/jail.h"
#include "jail/linux_abi.h"
#include "jail/lock/lock.h"
#include "jail/lock_params.h"

extern char **environ;

static void __attribute__((noreturn))
unsafe_child_main(const struct plan *plan, char *const argv[],
		  const int ends[4], pid_t keeper)
{
	sigset_t none;

	if (enter_die_with(keeper) < 0)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	for (int to = 0; to < 4; to++)
		if (dup2(ends[to], to) < 0)
			_exit(127);
	syscall(SYS_close_range, LOCK_CHANNEL_FD + 1, ~0u, 0);
	execve(plan->interpreter->executable, argv, environ);
	_exit(127);
}

static int
unsafe_make_ends(struct jail *j, int ends[4], int in, struct remit_error *err)
{
	int out[2], errs[2], pair[2];

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errs, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	j->out = out[0];
	j->err = errs[0];
	link_open(&j->channel, pair[0], PARTY_JAIL);
	ends[0] = fcntl(in, F_DUPFD_CLOEXEC, 16);
	ends[1] = fcntl(out[1], F_DUPFD_CLOEXEC, 16);
	ends[2] = fcntl(errs[1], F_DUPFD_CLOEXEC, 16);
	ends[3] = fcntl(pair[1], F_DUPFD_CLOEXEC, 16);
	close(out[1]);
	close(errs[1]);
	close(pair[1]);
	if (fcntl(j->out, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(j->err, F_SETFL, O_NONBLOCK) < 0 || ends[3] < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fcntl");
	return 0;
}

int
jail_open_unsafe(struct jail *j, const struct plan *plan,
		 const struct jail_site *site, int in, struct remit_error *err)
{
	char boot[PATH_MAX];
	char *argv[] = {
		plan->interpreter->executable,
		"-u",
		boot,
		NULL,
	};
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&j->run_pidfd,
		.exit_signal = SIGCHLD,
	};
	int ends[4] = { -1, -1, -1, -1 };
	pid_t pid, keeper = getpid();

	snprintf(boot, sizeof(boot), "%s/boot.py", site->runtime_dir);
	j->unjailed = j->no_init = true;
	if (unsafe_make_ends(j, ends, in, err) < 0)
		return -1;
	pid = sys_clone3(&args);
	if (pid == 0)
		unsafe_child_main(plan, argv, ends, keeper);
	for (int i = 0; i < 4; i++)
		close(ends[i]);
	if (pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "clone");
	j->init_pid = pid;
	return 0;
}
