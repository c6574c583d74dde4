#include "proxy.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "filter.h"
#include "gate.h"
#include "rights.h"
#include "step.h"

/* Where the two ends lie once all others are closed. */
#define LINE	 0
#define WAYS_OUT 1

/* ---- in the proxy ---- */

static int
close_others(int line, int ways_out)
{
	int up = fcntl(line, F_DUPFD, 16),
	    up_too = fcntl(ways_out, F_DUPFD, 16);

	if (up < 0 || up_too < 0 || dup2(up, LINE) < 0 ||
	    dup2(up_too, WAYS_OUT) < 0)
		return -1;
	return (int)syscall(SYS_close_range, WAYS_OUT + 1, ~0u, 0);
}

/* Keys on a terminal are for the keeper. */
static void
ignore_signals(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		signal(all[i], SIG_IGN);
}

static int
limit_self(void)
{
	static const struct {
		int resource;
		rlim_t most;
	} all[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NOFILE, 512 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct rlimit l = { all[i].most, all[i].most };

		if (setrlimit((__rlimit_resource_t)all[i].resource, &l) < 0)
			return -1;
	}
	return 0;
}

_Static_assert(2 * RELAYS_MAX + LOOKUPS_MAX + LISTENERS_MAX + 16 < 512,
	       "it never lacks descriptors");

/* By root: somebody who owns nothing. The rights go right after. */
static int
take_user(const struct proxy *p)
{
	uid_t uid = p->lease.uid;

	if (p->lease.fd < 0)
		return 0;
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0)
		return -1;
	return setresuid(uid, uid, uid);
}

/* In this order: a change of user or rights undoes the signal of death. */
static int
lock_self(const struct proxy *p, const struct plan *plan, pid_t keeper)
{
	if (limit_self() < 0 || take_user(p) < 0 || rights_drop() < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != keeper || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	if (!plan_keeps(plan, MECH(SECCOMP)))
		return 0; /* a test leaves it out */
	return filter_load(FILTER_PROXY);
}

/* The jail was not built, and says why: not to be dead before it is heard. */
static void __attribute__((noreturn)) wait_for_end(void)
{
	char nothing;
	ssize_t n = read(LINE, &nothing, 1);

	_exit(n != 0);
}

static void __attribute__((noreturn))
run(const struct proxy *p, const struct plan *plan, pid_t keeper)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct remit_error err;
	int fds[LISTENERS_MAX];
	size_t count;

	prctl(PR_SET_NAME, "remit-proxy", 0, 0, 0);
	ignore_signals();
	if (!g ||
	    host_rules_read(&plan->policy->network_allow, &g->rules, &err) < 0)
		_exit(1);
	g->ledger = p->ledger;
	site_names_read(&g->site, &g->rules);
	if (listeners_take(WAYS_OUT, fds, &count) < 0)
		wait_for_end();
	if (close(WAYS_OUT) < 0 || gate_open(g, LINE, fds, count, &err) < 0 ||
	    lock_self(p, plan, keeper) < 0)
		_exit(1);
	gate_run(g);
	_exit(0);
}

/* ---- in the keeper ---- */

static int
make_pair(int pair[2], struct remit_error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	return 0;
}

static int
start(struct proxy *p, const struct plan *plan, struct remit_error *err)
{
	int line[2], ways_out[2];
	pid_t keeper = getpid();

	p->ledger = ledger_new(err);
	if (!p->ledger ||
	    (plan->by_root && uid_lease_take(&p->lease, err) < 0) ||
	    make_pair(line, err) < 0)
		return -1;
	p->line = line[0];
	if (make_pair(ways_out, err) < 0) {
		close(line[1]);
		return -1;
	}
	p->ways_out = ways_out[0];
	p->pid = fork();
	if (p->pid == 0 && close_others(line[1], ways_out[1]) < 0)
		_exit(1);
	if (p->pid == 0)
		run(p, plan, keeper);
	close(line[1]);
	close(ways_out[1]);
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
