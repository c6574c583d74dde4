/*
 * plan_part: what the parts of a plan's making know of each other: the fields
 * in general (plan.c), directories of the host (policy/plan/directories.c),
 * memory (policy/plan/memory.c), the network (policy/plan/network.c) and
 * packages (policy/plan/packages.c). For these files only.
 */
#ifndef REMIT_PLAN_PART_H
#define REMIT_PLAN_PART_H

#include "policy/plan/plan.h"

struct decision {
	struct plan *plan;
	const struct policy *policy;
	const struct host *host;
	const struct plan_job *job;
	const struct field *field;
	struct plan_row *row;
};

typedef int decide_fn(struct decision *d, struct remit_error *err);

/* Note a mechanism in the row; false if the tier has it not. */
bool plan_note_kept(struct decision *d, uint64_t mechanism);

/* The policy gives it: nothing is kept. */
void plan_grant(struct decision *d, const char *note);

static inline bool
names_hosts(const struct policy *p)
{
	return p->network_allow.count > 0 || p->network_ask;
}

static inline bool
has_sockets(const struct policy *p)
{
	return p->network_access || names_hosts(p);
}

static inline bool
is_bare(const struct decision *d)
{
	return tiers[d->plan->tier].bare;
}

/* That what only a proxy can do has one: a place for clients that ask for it,
   and credentials. */
int plan_check_proxy(const struct plan *p, struct remit_error *err) must_check;

/* Fill p->mounts from the plan's policy and interpreter (its parts, read roots
   and mounts, all in one list), or refuse what lies inside each other. */
int plan_list_mounts(struct plan *p, struct remit_error *err) must_check;

decide_fn decide_read_roots;
decide_fn decide_write_roots;
decide_fn decide_mounts;
decide_fn decide_commit_names;
decide_fn decide_memory;
decide_fn decide_network;
decide_fn decide_hosts;
decide_fn decide_credentials;
decide_fn decide_packages;
decide_fn decide_installation;

/* Packages that this tier cannot have. */
int plan_check_packages(const struct plan *p,
			struct remit_error *err) must_check;

#endif
