/*
 * proxy_launcher: the process that starts proxies for a keeper that has locked
 * itself down.
 *
 * It runs where proxies must run: on the host's network and outside of the
 * keeper's namespaces. It is a newly executed program, so neither it nor its
 * forks have anything of the keeper's memory. For each proxy the keeper sends
 * three descriptors, and it answers with the pid of a proxy, which is a child
 * of the keeper. It dies with the keeper.
 */
#ifndef REMIT_PROXY_LAUNCHER_H
#define REMIT_PROXY_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct proxy_launcher {
	pid_t pid; /* 0: none */
	int line;
};

#define PROXY_LAUNCHER_INIT { .line = -1 }

/* The keeper that starts it. */
struct proxy_launcher_keeper {
	bool by_root;
	bool on_ground;	 /* in a user namespace already (ground.h) */
	bool unfiltered; /* only in test builds */
};

/* Start the launcher, unless it is running. */
int proxy_launcher_start(struct proxy_launcher *p,
			 const struct proxy_launcher_keeper *by,
			 struct remit_error *err) must_check;
/* Fork a proxy with these descriptors, in the order of proxy/params.h. Returns
   its pid, or -1. */
pid_t proxy_launcher_fork(struct proxy_launcher *p, const int fds[3],
			  struct remit_error *err) must_check;
/* Called when the keeper has reaped this child. Returns whether it was the
   proxy launcher. */
bool proxy_launcher_reaped(struct proxy_launcher *p, pid_t pid);
void proxy_launcher_free(struct proxy_launcher *p);

/* The main function of the process "remit proxy-launcher". Returns only if it
   was not started by a keeper, or on failure. */
int proxy_launcher_main(bool unfiltered);

#endif
