#include "proxy.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "proxy_order.h"
#include "rights.h"

/* The ends of a proxy's that is about to be started. */
struct ends {
	int line, ways_out, ledger;
};

#define ENDS_INIT          \
	{                  \
		-1, -1, -1 \
	}

static void
ends_free(struct ends *e)
{
	own_fd_close(&e->line);
	own_fd_close(&e->ways_out);
	own_fd_close(&e->ledger);
}

/* ---- in the child ---- */

static int
place(const struct ends *e)
{
	/* Out of each other's way first. */
	int line = fcntl(e->line, F_DUPFD, 16);
	int ways_out = fcntl(e->ways_out, F_DUPFD, 16);
	int ledger = fcntl(e->ledger, F_DUPFD, 16);

	if (dup2(line, PROXY_LINE) < 0 || dup2(ways_out, PROXY_WAYS_OUT) < 0 ||
	    dup2(ledger, PROXY_LEDGER) < 0)
		return -1;
	return (int)syscall(SYS_close_range, PROXY_LEDGER + 1, ~0u, 0);
}

/*
 * The same program anew: the keeper's memory, in which other runs lie, is not
 * for a process that reads foreign bytes on the network.
 */
static void __attribute__((noreturn))
become_proxy(const struct ends *e, bool by_root)
{
	static char *const argv[] = { "remit", "proxy", NULL };
	static char *const none[] = { NULL };
	sigset_t all;

	/* The caller may have blocked what ends it. */
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Root's go in the new program, which must be executed first. */
	if (place(e) == 0 && (by_root || rights_drop() == 0))
		execve("/proc/self/exe", argv, none);
	_exit(1);
}

/* ---- in the keeper ---- */

static int
make_pair(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

static int
send_order(const struct proxy *p, const struct plan *plan,
	   struct remit_error *err)
{
	struct proxy_order o = {
		.magic = PROXY_MAGIC,
		.keeper = getpid(),
		.uid = p->lease.uid,
		.by_root = plan->by_root,
		.unfiltered = !plan_keeps(plan, MECH(SECCOMP)),
		.is_asked = plan->policy->network_proxy,
	};

	int sent = -1;

	if (host_rules_read(&plan->policy->network_allow, &o.rules, err) == 0 &&
	    vault_fill(&o.vault, plan->policy, err) == 0)
		sent = send(p->line, &o, sizeof(o), MSG_NOSIGNAL) == sizeof(o)
			       ? 0
			       : fail_sys(err, REMIT_E_KERNEL, "order a proxy");
	/* Not for who is forked from here. */
	explicit_bzero(&o.vault, sizeof(o.vault));
	return sent;
}

static int
start(struct proxy *p, const struct plan *plan, struct remit_error *err)
{
	own(ends) struct ends theirs = ENDS_INIT;

	p->ledger = ledger_new(&theirs.ledger, err);
	if (!p->ledger || make_pair(&p->line, &theirs.line, err) < 0 ||
	    make_pair(&p->ways_out, &theirs.ways_out, err) < 0 ||
	    (plan->by_root && uid_lease_take(&p->lease, err) < 0) ||
	    send_order(p, plan, err) < 0)
		return -1;
	signal(SIGUSR1, SIG_DFL); /* see proxy_end() */
	p->pid = fork();
	if (p->pid == 0)
		become_proxy(&theirs, plan->by_root);
	if (p->pid > 0)
		return 0;
	p->pid = 0;
	return fail_sys(err, REMIT_E_KERNEL, "fork");
}

int
proxy_start(struct proxy *p, const struct plan *plan, struct remit_error *err)
{
	if (start(p, plan, err) == 0)
		return 0;
	proxy_free(p);
	return -1;
}

bool
proxy_reaped(struct proxy *p, pid_t pid)
{
	if (!p->pid || pid != p->pid)
		return false;
	p->pid = 0;
	return true;
}

bool
proxy_end(struct proxy *p)
{
	int status = 0;

	if (!p->pid)
		return !p->ledger; /* there never was one */
	/* The signal tells: of two the first is the cause of death. */
	kill(p->pid, SIGUSR1);
	waitpid(p->pid, &status, 0);
	p->pid = 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
}

void
proxy_free(struct proxy *p)
{
	/* Ours, and not reaped: the number is its own. */
	if (p->pid) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	own_fd_close(&p->line);
	own_fd_close(&p->ways_out);
	ledger_free(p->ledger);
	uid_lease_free(&p->lease);
	*p = (struct proxy)PROXY_INIT;
}
