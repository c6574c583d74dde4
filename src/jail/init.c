#include "init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "filter.h"
#include "frame.h"
#include "linux_abi.h"
#include "rights.h"
#include "step.h"

#define LIFELINE 0

static int
lock_self(int lifeline, int *signals)
{
	sigset_t child;

	if (dup2(lifeline, LIFELINE) < 0 ||
	    syscall(SYS_close_range, LIFELINE + 1, ~0u, 0) < 0)
		return -1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	*signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	if (*signals < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NAME, "remit-init", 0, 0, 0) < 0 ||
	    rights_drop(false) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return filter_load(FILTER_INIT);
}

static void
send_exit(const struct exit_report *report)
{
	unsigned char frame[FRAME_HEADER + sizeof(*report)];

	frame_header(frame, FRAME_EXITED, sizeof(*report));
	memcpy(frame + FRAME_HEADER, report, sizeof(*report));
	send(LIFELINE, frame, sizeof(frame), MSG_NOSIGNAL);
}

static void
reap(pid_t main_pid, bool tells_all)
{
	struct exit_report report;
	pid_t pid;

	while ((pid = exit_report_wait(&report)) > 0)
		if (pid == main_pid || tells_all)
			send_exit(&report);
}

void
init_run(int lifeline, pid_t main_pid, bool tells_all)
{
	int signals;

	if (lock_self(lifeline, &signals) < 0)
		_exit(1);
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = LIFELINE, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
		};
		struct signalfd_siginfo info;

		/* SIGCHLD may have come before the signalfd was there. */
		reap(main_pid, tells_all);
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		/* The keeper sends nothing: readable is its end. */
		if (fds[0].revents)
			_exit(0);
		while (read(signals, &info, sizeof(info)) > 0)
			;
	}
}
