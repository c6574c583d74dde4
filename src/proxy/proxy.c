#include "proxy/proxy.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "proxy/credential/authority.h"
#include "proxy/params.h"

static int
make_message_pair(int *ours, int *theirs, struct remit_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

static int
proxy_send_params(const struct proxy *p, const struct plan *plan,
		  const struct secrets *given, struct remit_error *err)
{
	struct proxy_params o = {
		.magic = PROXY_MAGIC,
		.keeper = getpid(),
		.uid = p->lease.uid,
		.by_root = plan->by_root,
		.unfiltered = !plan_keeps(plan, MECH(SECCOMP)),
		.explicit_proxy = plan->policy->network_proxy,
		.prompts = plan->policy->network_ask,
		.allows_public = plan->policy->network_access == NETWORK_PUBLIC,
	};
	int sent = -1;

	if (plan->ends_tls && !trust_path())
		return fail_refused(
			err, "credentials", "Install ca-certificates.",
			"this machine has no list of certificate authorities, "
			"so no host could prove its identity");
	if (host_rules_read(&plan->policy->network_allow, &o.rules, err) == 0 &&
	    vault_fill(&o.vault, plan->policy, given, err) == 0)
		sent = send(p->line, &o, sizeof(o), MSG_NOSIGNAL) == sizeof(o)
			       ? 0
			       : fail_sys(err, REMIT_E_KERNEL,
					  "send the proxy its parameters");
	/* Later forks of this process must not have a copy. */
	explicit_bzero(&o.vault, sizeof(o.vault));
	return sent;
}

static int
proxy_launch(struct proxy *p, int theirs[PROXY_FDS],
	     struct proxy_launcher *proxy_launcher, const struct plan *plan,
	     const struct secrets *given, struct remit_error *err)
{
	pid_t pid;

	p->ledger = ledger_new(&theirs[PROXY_LEDGER], err);
	if (!p->ledger ||
	    make_message_pair(&p->line, &theirs[PROXY_LINE], err) < 0 ||
	    make_message_pair(&p->egress, &theirs[PROXY_EGRESS], err) < 0 ||
	    (plan->by_root && uid_lease_acquire(&p->lease, err) < 0) ||
	    proxy_send_params(p, plan, given, err) < 0)
		return -1;
	pid = proxy_launcher_fork(proxy_launcher, theirs, err);
	if (pid < 0)
		return -1;
	p->pid = pid;
	return 0;
}

int
proxy_start(struct proxy *p, struct proxy_launcher *proxy_launcher,
	    const struct plan *plan, const struct secrets *given,
	    struct remit_error *err)
{
	int theirs[PROXY_FDS] = { -1, -1, -1 };
	int started = proxy_launch(p, theirs, proxy_launcher, plan, given, err);

	for (int i = 0; i < PROXY_FDS; i++)
		own_fd_close(&theirs[i]);
	if (started < 0)
		proxy_free(p);
	return started;
}

int
proxy_set_rules(const struct proxy *p, bool allows_public,
		const struct host_rules *rules, struct remit_error *err)
{
	struct proxy_rules now = { .allows_public = allows_public,
				   .rules = *rules };

	/* The proxy reads its line before everything else. If earlier messages
	   still fill the line, it does not work. */
	if (send(p->line, &now, sizeof(now), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    sizeof(now))
		return 0;
	return fail_sys(err, REMIT_E_BUSY,
			"send the proxy the new list of hosts");
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
	/* If two signals race, the first is the cause of death, so the wait
	   status tells whether it died of this one. */
	kill(p->pid, SIGUSR1);
	waitpid(p->pid, &status, 0);
	p->pid = 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
}

void
proxy_free(struct proxy *p)
{
	/* This child has not been reaped, so the pid is still its own. */
	if (p->pid) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	own_fd_close(&p->line);
	own_fd_close(&p->egress);
	ledger_free(p->ledger);
	uid_lease_free(&p->lease);
	*p = (struct proxy)PROXY_INIT;
}
