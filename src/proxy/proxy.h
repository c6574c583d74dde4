/*
 * proxy: the process through which one jail reaches the network, as the keeper
 * sees it.
 *
 * It is a child of the keeper on the host's network. The proxy launcher forks
 * it, so it has nothing of the keeper's memory. If started by root it has a
 * separate user. It has no capabilities, no files, and a filter that allows
 * only socket calls. It dies when the keeper closes its line. If it dies
 * earlier, the keeper ends the jail.
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
	pid_t pid;  /* 0: none, or it has ended */
	int line;   /* ends the proxy when it is closed */
	int egress; /* for pid 1 of the jail, until that is started */
	struct ledger *ledger; /* NULL: there was no proxy */
	struct uid_lease lease;
};

#define PROXY_INIT { .line = -1, .egress = -1, .lease = UID_LEASE_INIT }

/* Start a proxy for a plan that is proxied, with the secrets that the session's
   client has given (or NULL). It waits for the sockets from pid 1 of the
   jail. */
int proxy_start(struct proxy *p, struct proxy_launcher *proxy_launcher,
		const struct plan *plan, const struct secrets *given,
		struct remit_error *err) must_check;
/*
 * Sends the hosts that the code may connect to from now on. Every question and
 * connection that the proxy reads after this has returned is judged by them,
 * and connections that they do not allow are closed.
 */
int proxy_set_rules(const struct proxy *p, bool allows_public,
		    const struct host_rules *rules,
		    struct remit_error *err) must_check;
/* Called when the keeper has reaped this child. Returns whether it was the
   proxy. */
bool proxy_reaped(struct proxy *p, pid_t pid);
/* End the proxy and wait for its death. The ledger stays. Returns false if the
   proxy had died, or was about to die, for another reason. */
bool proxy_end(struct proxy *p);
/* Kill the proxy and wait for its death. The ledger is freed. */
void proxy_free(struct proxy *p);

/* The main function of the process, with the descriptors of proxy/params.h.
   Returns only if it could not start (1), or if the jail was not built (0). */
int proxy_main(void);

#endif
