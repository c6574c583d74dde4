#include "measure/bench_relay.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file/fd.h"
#include "bench_stats.h"

static int
pair_of(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static void __attribute__((noreturn))
answer(int peer)
{
	char byte;

	fds_close_others(&peer, 1);
	while (read(peer, &byte, 1) == 1 && write(peer, &byte, 1) == 1)
		;
	_exit(0);
}

static void __attribute__((noreturn))
pass_on(int peer)
{
	int ends[2];
	char byte;

	fds_close_others(&peer, 1);
	if (pair_of(ends) < 0)
		_exit(1);
	if (fork() == 0)
		answer(ends[1]);
	close(ends[1]);
	while (read(peer, &byte, 1) == 1 && write(ends[0], &byte, 1) == 1 &&
	       read(ends[0], &byte, 1) == 1 && write(peer, &byte, 1) == 1)
		;
	_exit(0);
}

int
bench_relay_open(struct bench_relay *r, struct remit_error *err)
{
	int ends[2];

	if (pair_of(ends) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	r->pid = fork();
	if (r->pid == 0)
		pass_on(ends[1]);
	close(ends[1]);
	r->peer = ends[0];
	if (r->pid < 0)
		return fail_sys(err, REMIT_E_KERNEL, "fork");
	return 0;
}

int
bench_relay_ask(const struct bench_relay *r, double *us,
		struct remit_error *err)
{
	double begun = bench_stats_now_us();
	char byte = 'x';

	if (send(r->peer, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    read(r->peer, &byte, 1) != 1)
		return fail_sys(err, REMIT_E_GONE, "the relay is gone");
	*us = bench_stats_now_us() - begun;
	return 0;
}

void
bench_relay_close(struct bench_relay *r)
{
	own_fd_close(&r->peer);
	r->peer = -1;
	if (r->pid > 0)
		waitpid(r->pid, NULL, 0);
	r->pid = 0;
}
