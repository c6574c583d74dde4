/*
 * proxy: the process that holds the ways out of one jail, seen from the keeper.
 *
 * It is a child of the keeper on the host's network, forked by the proxy
 * launcher and so with nothing of the keeper's memory, of a user of its own if
 * started by root, with no rights, no files and a filter that knows sockets
 * only. It dies with the keeper's end of its line; the keeper ends the jail if
 * it dies before.
 */
#ifndef REMIT_PROXY_H
#define REMIT_PROXY_H

#include <sys/types.h>

#include "jail/uid_pool.h"
#include "policy/plan/plan.h"
#include "proxy/credential/vault.h"
#include "proxy/ledger.h"
#include "proxy/proxy_launcher.h"

struct proxy {
	pid_t pid;	       /* 0: there is none (any more) */
	int line;	       /* its life */
	int egress;	       /* for pid 1 of the jail, until it is started */
	struct ledger *ledger; /* NULL: there was none */
	struct uid_lease lease;
};

#define PROXY_INIT { .line = -1, .egress = -1, .lease = UID_LEASE_INIT }

/* For a plan that is proxied, with what its session's client has given, or
   NULL. It waits for what pid 1 of the jail sends. */
int proxy_start(struct proxy *p, struct proxy_launcher *proxy_launcher,
		const struct plan *plan, const struct secrets *given,
		struct remit_error *err) must_check;
/* The keeper has reaped this child. True if it was the proxy. */
bool proxy_reaped(struct proxy *p, pid_t pid);
/* End it and wait for that; what it wrote down stays. False if it had died, or
   was about to, by anybody else. */
bool proxy_end(struct proxy *p);
/* Kill it and wait for its end; what it wrote down is gone. */
void proxy_free(struct proxy *p);

/* The process itself, with descriptors as in proxy/params.h. Returns only if it
   never became one, or the jail did not (0). */
int proxy_main(void);

#endif
