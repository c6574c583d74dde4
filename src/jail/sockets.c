/*
 * jail_sockets: makes TCP sockets in the network of a jail, for connections
 * from outside to programs that listen inside.
 *
 * A socket stays in the network namespace that it was made in. So a helper
 * process enters the user and network namespaces of the jail, makes sockets,
 * passes them to the keeper and exits: it neither connects nor waits. It is the
 * keeper's own code and does not enter the pid namespace of the jail, so the
 * code can neither see nor signal it.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file/fd.h"
#include "base/proc.h"
#include "jail/part.h"

/* The memory of a connection in the kernel counts against the keeper, not
   against the jail: limit it. The kernel doubles this number. */
#define BUFFER_BYTES (128 * 1024)

static int
make_socket(void)
{
	own_fd int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int bytes = BUFFER_BYTES, yes = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		return -1;
	return take_fd(&fd);
}

static int
enter_network(const struct jail *j)
{
	if (setns(j->entry[JOIN_USER_NS], CLONE_NEWUSER) < 0)
		return -1;
	return setns(j->entry[JOIN_NET_NS], CLONE_NEWNET);
}

static void __attribute__((noreturn))
helper_main(const struct jail *j, int to, size_t count)
{
	int fds[JAIL_SOCKETS_MAX];

	if (enter_network(j) < 0)
		_exit(errno);
	for (size_t i = 0; i < count; i++) {
		fds[i] = make_socket();
		if (fds[i] < 0)
			_exit(errno);
	}
	if (pass_send(to, "s", 1, fds, count, MSG_DONTWAIT) != 1)
		_exit(errno);
	_exit(0);
}

/* The helper has exited, so everything that it sent is here. */
static int
recv_sockets(int from, int *fds, size_t count, struct remit_error *err)
{
	int got[PASS_MAX];
	size_t got_count;
	char tag;

	if (pass_recv(from, &tag, 1, got, &got_count, MSG_DONTWAIT) == 1 &&
	    got_count == count) {
		for (size_t i = 0; i < count; i++)
			fds[i] = got[i];
		return 0;
	}
	/* Some are missing if the keeper has too many descriptors. */
	for (size_t i = 0; i < got_count; i++)
		close(got[i]);
	errno = EMFILE;
	return fail_sys(err, REMIT_E_BUSY, "receive sockets of the jail");
}

static int
run_helper(const struct jail *j, int to, size_t count, struct remit_error *err)
{
	pid_t helper = fork();
	int status = 0;

	if (helper < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	if (helper == 0)
		helper_main(j, to, count);
	if (proc_wait(helper, &status) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	return fail_sys(err, REMIT_E_KERNEL,
			"make sockets in the jail's network");
}

int
jail_make_sockets(const struct jail *j, int *fds, size_t count,
		  struct remit_error *err)
{
	own_fd int ours = -1, theirs = -1;
	int pair[2];

	if (j->entry[JOIN_USER_NS] < 0 || j->entry[JOIN_NET_NS] < 0 || !count ||
	    count > JAIL_SOCKETS_MAX)
		return fail(err, REMIT_E_INTERNAL,
			    "the jail was not made for sockets from outside");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	return run_helper(j, theirs, count, err) < 0
		       ? -1
		       : recv_sockets(ours, fds, count, err);
}
