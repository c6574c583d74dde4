/*
 * cpu_share: divides processor time between tenants. The programs of one
 * tenant together weigh as much as one program that has no tenant, however
 * many they are; each of them weighs the same. It needs groups of the "cpu"
 * controller (CAN_CGROUP_SHARE) and changes nothing without them.
 *
 * A session that rests between two cells weighs next to nothing: threads that
 * it left behind run only when nothing else wants the processor.
 */
#ifndef REMIT_CPU_SHARE_H
#define REMIT_CPU_SHARE_H

#include "jail/cgroup/cgroup.h"

struct cpu_tenant;

/* Of a keeper; all zero: no tenants. */
struct cpu_shares {
	struct cpu_tenant *first;
};

/* Of a jail; all zero: it is not counted. */
struct cpu_share {
	struct cpu_share *next;
	struct cpu_tenant *tenant;
	struct cgroup *group;
	bool is_idle;
};

/*
 * The program in this group begins to run, or runs again. Several calls count
 * once. `tenant` may be NULL: the group then has the weight of a new one.
 */
int cpu_share_join(struct cpu_shares *shares, struct cpu_share *s,
		   struct cgroup *group, const char *tenant,
		   struct remit_error *err) must_check;
/* It ends, or was never counted. */
void cpu_share_leave(struct cpu_shares *shares, struct cpu_share *s);
/* Whether it rests. Without a tenant nothing changes. */
void cpu_share_set_idle(struct cpu_share *s, bool is_idle);

#endif
