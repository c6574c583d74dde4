/*
 * cpu_share: divides processor time between tenants. All programs of one tenant
 * together have the weight of one program without a tenant, and divide it
 * equally. This needs groups of the "cpu" controller (CAN_CGROUP_SHARE);
 * without them nothing changes.
 *
 * A session that is idle between two cells has almost no weight: threads that
 * it left running get only processor time that nothing else needs.
 */
#ifndef REMIT_CPU_SHARE_H
#define REMIT_CPU_SHARE_H

#include "jail/cgroup/cgroup.h"

struct cpu_tenant;

/* The tenants of a keeper; all zero: none. */
struct cpu_shares {
	struct cpu_tenant *first;
};

/* The share of a jail; all zero: it is not counted. */
struct cpu_share {
	struct cpu_share *next;
	struct cpu_tenant *tenant;
	struct cgroup *group;
	bool is_idle;
};

/*
 * Counts the program in this group as running. A second call with the same
 * tenant has no effect. Without a tenant (NULL) the group gets the weight of a
 * new group.
 */
int cpu_share_join(struct cpu_shares *shares, struct cpu_share *s,
		   struct cgroup *group, const char *tenant,
		   struct remit_error *err) must_check;
/* Stops counting it. It may be one that was never counted. */
void cpu_share_leave(struct cpu_shares *shares, struct cpu_share *s);
/* Sets whether it is idle. Without a tenant nothing changes. */
void cpu_share_set_idle(struct cpu_share *s, bool is_idle);

#endif
