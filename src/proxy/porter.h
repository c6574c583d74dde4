/*
 * porter: the process that starts proxies, for a keeper that has locked itself.
 *
 * It stands where proxies must, on the host's network and outside of the
 * keeper's own namespaces. It is a program started anew, so neither it nor what
 * it forks has anything of the keeper's memory. The keeper sends it three
 * descriptors at a time; it answers with the number of a proxy, which is the
 * keeper's own child. It dies with the keeper.
 */
#ifndef REMIT_PORTER_H
#define REMIT_PORTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct porter {
	pid_t pid; /* 0: there is none */
	int line;
};

#define PORTER_INIT { .line = -1 }

/* Who starts it. */
struct porter_keeper {
	bool by_root;
	bool on_ground;	 /* in its own user namespace already */
	bool unfiltered; /* only in test builds */
};

/* If there is none. */
int porter_start(struct porter *p, const struct porter_keeper *by,
		 struct remit_error *err) must_check;
/* Have a proxy made that holds these, in the order of proxy/order.h. Its
   number, or -1. */
pid_t porter_fork(struct porter *p, const int fds[3],
		  struct remit_error *err) must_check;
/* The keeper has reaped this child. True if it was the porter. */
bool porter_reaped(struct porter *p, pid_t pid);
void porter_free(struct porter *p);

/* The process itself: "remit porter". Returns only if no keeper has started
   it. */
int porter_main(bool unfiltered);

#endif
