#include "proxy/proxy_launcher.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file/fd.h"
#include "jail/linux_abi.h"
#include "jail/lock/rights.h"
#include "jail/seccomp/filter.h"
#include "proxy/params.h"
#include "proxy/proxy.h"

/* The launcher's end of its line. */
#define LAUNCHER_LINE 0

/* ---- the launcher's process ---- */

/* Signals from a terminal are for the keeper. */
static void
ignore_signals(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		signal(all[i], SIG_IGN);
	signal(SIGUSR1, SIG_DFL); /* see proxy_end() */
}

static int
place_fds(const int fds[PROXY_FDS])
{
	/* The descriptors came above the line in any order: move them where
	   they cannot overwrite each other. */
	for (int i = 0; i < PROXY_FDS; i++)
		if (fcntl(fds[i], F_DUPFD, 16 + i) != 16 + i)
			return -1;
	for (int i = 0; i < PROXY_FDS; i++)
		if (dup2(16 + i, i) < 0)
			return -1;
	return (int)syscall(SYS_close_range, PROXY_FDS, ~0u, 0);
}

/* Fork a child of the keeper, which learns from the kernel how it ended. */
static pid_t
fork_sibling(void)
{
	struct clone_args args = { .flags = CLONE_PARENT };

	return sys_clone3(&args);
}

static int
serve_one(const int fds[PROXY_FDS])
{
	pid_t pid = fork_sibling();

	if (pid == 0)
		_exit(place_fds(fds) == 0 ? proxy_main() : 1);
	for (int i = 0; i < PROXY_FDS; i++)
		close(fds[i]);
	return send(LAUNCHER_LINE, &pid, sizeof(pid), MSG_NOSIGNAL) ==
			       sizeof(pid)
		       ? 0
		       : -1;
}

int
proxy_launcher_main(bool unfiltered)
{
	int fds[PASS_MAX];
	size_t count;
	char tag;

	prctl(PR_SET_NAME, "remit-launcher", 0, 0, 0);
	ignore_signals();
	if (pass_recv(LAUNCHER_LINE, &tag, 1, fds, &count, 0) != 1 || count ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    (!unfiltered && filter_load(FILTER_KEEPER_NETWORK) < 0))
		return 1;
	while (pass_recv(LAUNCHER_LINE, &tag, 1, fds, &count, 0) == 1)
		if (count != PROXY_FDS || serve_one(fds) < 0)
			return 1;
	return 0;
}

/* ---- in the keeper ---- */

/* Root's capabilities are dropped in each proxy, which must first become its
   user. */
static int
leave_rights(const struct proxy_launcher_keeper *by)
{
	if (by->by_root)
		return 0;
	return by->on_ground ? rights_drop(true) : rights_drop_own();
}

/*
 * Execute this program again: a process that reads foreign bytes from the
 * network must not have a copy of the keeper's memory, which contains runs.
 */
static void __attribute__((noreturn))
become_proxy_launcher(int line, const struct proxy_launcher_keeper *by)
{
	char *const argv[] = { "remit", "proxy-launcher",
			       by->unfiltered ? "unfiltered" : NULL, NULL };
	static char *const none[] = { NULL };
	sigset_t all;

	/* The caller may have blocked the signals that end it. */
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(line, LAUNCHER_LINE) == LAUNCHER_LINE &&
	    syscall(SYS_close_range, LAUNCHER_LINE + 1, ~0u, 0) == 0 &&
	    leave_rights(by) == 0)
		execve("/proc/self/exe", argv, none);
	_exit(1);
}

int
proxy_launcher_start(struct proxy_launcher *p,
		     const struct proxy_launcher_keeper *by,
		     struct remit_error *err)
{
	own_fd int theirs = -1;
	int pair[2];

	if (p->pid)
		return 0;
	own_fd_close(&p->line);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	p->line = pair[0];
	theirs = pair[1];
	p->pid = fork();
	if (p->pid == 0)
		become_proxy_launcher(theirs, by);
	if (p->pid < 0) {
		p->pid = 0;
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	}
	/* This byte shows the launcher that a keeper started it. */
	if (send(p->line, "k", 1, MSG_NOSIGNAL) != 1)
		return fail_sys(err, REMIT_E_KERNEL, "start a proxy launcher");
	return 0;
}

pid_t
proxy_launcher_fork(struct proxy_launcher *p, const int fds[PROXY_FDS],
		    struct remit_error *err)
{
	pid_t pid = -1;
	ssize_t n = -1;

	if (p->line >= 0 && pass_send(p->line, "p", 1, fds, PROXY_FDS, 0) == 1)
		do
			n = recv(p->line, &pid, sizeof(pid), 0);
		while (n < 0 && errno == EINTR);
	if (n != sizeof(pid))
		return fail(err, REMIT_E_INTERNAL,
			    "the proxy launcher, which starts network proxies, "
			    "died");
	if (pid < 0)
		return fail(err, REMIT_E_KERNEL, "a proxy could not be forked");
	return pid;
}

bool
proxy_launcher_reaped(struct proxy_launcher *p, pid_t pid)
{
	if (!p->pid || pid != p->pid)
		return false;
	p->pid = 0;
	own_fd_close(&p->line);
	p->line = -1;
	return true;
}

void
proxy_launcher_free(struct proxy_launcher *p)
{
	/* This child has not been reaped, so the pid is still its own. */
	if (p->pid) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	own_fd_close(&p->line);
	*p = (struct proxy_launcher)PROXY_LAUNCHER_INIT;
}
