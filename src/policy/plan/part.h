/*
 * plan_part: the internal interface of the files that make a plan: plan.c
 * (fields in general), directories.c, memory.c, network.c and packages.c. For
 * these files only.
 */
#ifndef REMIT_PLAN_PART_H
#define REMIT_PLAN_PART_H

#include "base/deadline.h"
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

/* Adds a mechanism to the row. Returns false if the tier does not have it. */
bool plan_note_kept(struct decision *d, uint64_t mechanism);

/* Marks the row as granted: there is nothing to enforce. */
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

static inline bool
is_wasm(const struct decision *d)
{
	return d->plan->tier == TIER_WASM;
}

/* Refuses what no program in the tier wasm could use. */
int plan_refuse_wasm(const struct decision *d, const char *why,
		     struct remit_error *err) must_check;

/* Refuses the field, because a control group is missing, unless systemd was too
   slow to grant one. */
#define plan_refuse_group(d, err, ...)                  \
	((d)->host->scope_is_late                       \
		 ? deadline_missed(err, DEADLINE_SCOPE) \
		 : fail_refused(err, (d)->field->name, __VA_ARGS__))

/* Refuses network_proxy and credentials if the plan has no proxy for them. */
int plan_check_proxy(const struct plan *p, struct remit_error *err) must_check;

/* Refuses a workspace, or an alias of it, that collides with a mount or with
   another of them. */
int plan_check_workspace(const struct plan *p,
			 struct remit_error *err) must_check;

/* Fills p->mounts with the paths of the interpreter and the policy. Refuses
   directories that are inside each other. */
int plan_list_mounts(struct plan *p, struct remit_error *err) must_check;

/* Decides whether the code may create unix sockets and FIFOs, and notes it in
   the row of subprocess_execution. Called when everything else is decided. */
void plan_decide_unix_sockets(struct plan *p);

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

/* Refuses packages in a tier that does not support them. */
int plan_check_packages(const struct plan *p,
			struct remit_error *err) must_check;

#endif
