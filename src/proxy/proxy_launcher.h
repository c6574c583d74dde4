/*
 * proxy_launcher: the process that starts proxies, for a keeper that has locked
 * itself.
 *
 * It stands where proxies must, on the host's network and outside of the
 * keeper's own namespaces. It is a program started anew, so neither it nor what
 * it forks has anything of the keeper's memory. The keeper sends it three
 * descriptors at a time; it answers with the number of a proxy, which is the
 * keeper's own child. It dies with the keeper.
 */
#ifndef REMIT_PROXY_LAUNCHER_H
#define REMIT_PROXY_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct proxy_launcher {
	pid_t pid; /* 0: there is none */
	int line;
};

#define PROXY_LAUNCHER_INIT { .line = -1 }

/* Who starts it. */
struct proxy_launcher_keeper {
	bool by_root;
	bool on_ground;	 /* in its own user namespace already */
	bool unfiltered; /* only in test builds */
};

/* If there is none. */
int proxy_launcher_start(struct proxy_launcher *p,
			 const struct proxy_launcher_keeper *by,
			 struct remit_error *err) must_check;
/* Have a proxy made that holds these, in the order of proxy/params.h. Its
   number, or -1. */
pid_t proxy_launcher_fork(struct proxy_launcher *p, const int fds[3],
			  struct remit_error *err) must_check;
/* The keeper has reaped this child. True if it was the proxy launcher. */
bool proxy_launcher_reaped(struct proxy_launcher *p, pid_t pid);
void proxy_launcher_free(struct proxy_launcher *p);

/* The process itself: "remit proxy-launcher". Returns only if no keeper has
   started it. */
int proxy_launcher_main(bool unfiltered);

#endif
