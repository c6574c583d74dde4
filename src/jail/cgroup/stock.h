/*
 * cgroup_stock: groups whose run is over, for the next run with the same
 * limits. To make and remove them is a tenth of a warm run, most of it later,
 * in threads of the kernel.
 *
 * Only limits and counters are used again, and only where all counters are as
 * in a fresh group (cgroup_renew); a group holds nothing that code could leave.
 */
#ifndef REMIT_CGROUP_STOCK_H
#define REMIT_CGROUP_STOCK_H

#include "jail/cgroup/cgroup.h"

#define CGROUP_STOCK_MAX 16

struct cgroup_stock {
	struct cgroup spare[CGROUP_STOCK_MAX];
	size_t count;
};

/* Groups with these limits: spare ones, or new ones of that name. */
int cgroup_stock_take(struct cgroup_stock *s, struct cgroup *out,
		      const struct cgroup_home *home,
		      const struct plan_limits *l, const char *name,
		      struct remit_error *err) must_check;
/* Nobody is in them any more. What is not worth keeping is removed. */
void cgroup_stock_give(struct cgroup_stock *s, struct cgroup *c);
/* Remove what was not needed for longest, if there is any. */
void cgroup_stock_shrink(struct cgroup_stock *s);
void cgroup_stock_clear(struct cgroup_stock *s);

#endif
