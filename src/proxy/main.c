/*
 * proxy_main: the process of a proxy, from its first instruction until it is
 * locked down.
 */
#include <grp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "jail/lock/rights.h"
#include "jail/mount/tmpfs.h"
#include "jail/seccomp/filter.h"
#include "proxy/gate.h"
#include "proxy/params.h"
#include "proxy/proxy.h"

static int
proxy_limit(void)
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

_Static_assert(2 * (RELAYS_MAX + RELAYS_PIPED) + LOOKUPS_MAX + LISTENERS_MAX +
			       16 <
		       512,
	       "the proxy never runs out of descriptors");

/* When root: become a user who owns nothing. An ordinary user's capabilities
   ended when this program was executed. */
static int
become_proxy_user(const struct proxy_params *o)
{
	uid_t uid = o->uid;

	if (!o->by_root)
		return rights_drop_own();
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -1;
	return rights_drop(true);
}

/* In this order: a change of user or capabilities clears the parent-death
   signal. */
static int
proxy_lock(const struct proxy_params *o)
{
	if (proxy_limit() < 0 || become_proxy_user(o) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != o->keeper ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return o->unfiltered ? 0 : filter_load(FILTER_PROXY);
}

/* The jail was not built, and its report explains why. Do not die before the
   keeper has read that. */
static int
wait_for_end(void)
{
	char nothing;

	return read(PROXY_LINE, &nothing, 1) != 0;
}

static struct ledger *
map_ledger(void)
{
	struct ledger *l = ledger_map(PROXY_LEDGER);

	close(PROXY_LEDGER);
	return l;
}

/* Make the certificate authority, and send pid 1 of the jail the list of
   authorities that code trusts. Pid 1 waits for it. */
static int
make_tls_ends(struct gate *g)
{
	own_fd int file = -1;

	if (!tls_ends_wanted(&g->vault, &g->rules))
		return 0;
	g->ends = tls_ends_make(&g->vault, &g->rules, &file);
	return g->ends && trust_file_send(PROXY_EGRESS, file) == 0 ? 0 : -1;
}

int
proxy_main(void)
{
	struct gate *g = calloc(1, sizeof(*g));
	struct remit_error err;
	struct proxy_params o;
	int fds[LISTENERS_MAX];
	size_t count;

	prctl(PR_SET_NAME, "remit-proxy", 0, 0, 0);
	if (!g || recv(PROXY_LINE, &o, sizeof(o), 0) != sizeof(o) ||
	    o.magic != PROXY_MAGIC)
		return 1; /* not started by a keeper */
	g->rules = o.rules;
	g->explicit_proxy = o.explicit_proxy;
	g->pending.prompts = o.prompts;
	g->vault = o.vault;
	explicit_bzero(&o.vault, sizeof(o.vault));
	g->allows_public = o.allows_public;
	g->ledger = map_ledger();
	if (make_tls_ends(g) < 0)
		return 1;
	site_names_read(&g->site,
			g->allows_public || o.prompts ? NULL : &g->rules);
	if (listeners_recv(PROXY_EGRESS, fds, &count) < 0)
		return wait_for_end();
	close(PROXY_EGRESS);
	if (!g->ledger || gate_open(g, PROXY_LINE, fds, count, &err) < 0 ||
	    proxy_lock(&o) < 0)
		return 1;
	gate_run(g);
	_exit(0);
}
