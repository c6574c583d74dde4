/*
 * jail_part: declarations shared by the files that build a jail: jail.c (both
 * ways), warm.c (the warm way), child.c and init.c (the first process),
 * root_template.c and zygote.c (what warm jails are made from). Not for other
 * files.
 */
#ifndef REMIT_JAIL_PART_H
#define REMIT_JAIL_PART_H

#include "jail/blueprint.h"
#include "jail/jail.h"

#define BLUEPRINT_FOR(p, site, which)                          \
	{ .plan = (p),                                         \
	  .channel = -1,                                       \
	  .lifeline = -1,                                      \
	  .in = -1,                                            \
	  .out = -1,                                           \
	  .err = -1,                                           \
	  .proc = -1,                                          \
	  .root = -1,                                          \
	  .ruleset = -1,                                       \
	  .workspace = -1,                                     \
	  .egress = -1,                                        \
	  .own = CONTENTS_INIT,                                \
	  .groups = { [0 ... CGROUP_CONTROLLERS - 1] = -1 },   \
	  .writable = { -1, -1 },                              \
	  .scratch = -1,                                       \
	  .slot = -1,                                          \
	  .slots = { [0 ... PLAN_BRANCHES_MAX - 1] = -1 },     \
	  .hosts = { [0 ... PLAN_WRITE_ROOTS_MAX - 1] = -1 },  \
	  .uppers = { [0 ... PLAN_WRITE_ROOTS_MAX - 1] = -1 }, \
	  .roots = HASH_INIT,                                  \
	  .runtime_dir = (site)->runtime_dir,                  \
	  .by_root = (p)->by_root,                             \
	  .kind = (which) }

/* The descriptors sent with the report that a jail is built, in this order.
   Bits of the report's detail show which of them are present. */
enum built_fd {
	BUILT_RULESET,
	BUILT_WORKSPACE,
	BUILT_UPPER, /* the first of the upper directories of mode rw */
	BUILT_FDS = BUILT_UPPER + PLAN_WRITE_ROOTS_MAX,
};

/* Whether pid 1 of a cold jail has descriptors to send to the keeper. */
static inline bool
jail_sends_built(const struct plan *p)
{
	return p->exports || p->watched || p->write_roots || p->forkable;
}

/* Do everything that comes before the clone. */
int jail_lay_out(struct jail *j, struct blueprint *b,
		 const struct jail_site *site, int in, const char *name,
		 struct remit_error *err) must_check;
/* Move a descriptor to a number above those that have a meaning inside. */
int jail_move_up(int *fd, struct remit_error *err) must_check;
int jail_make_ends(struct jail *j, struct blueprint *b, int in,
		   struct remit_error *err) must_check;
int jail_acquire_groups(struct jail *j, const struct plan *plan,
			const struct jail_site *site, const char *name,
			struct remit_error *err) must_check;
/* Call it while pid 1 waits to be released: afterwards the keeper can no longer
   open its namespaces. */
int jail_open_namespaces(struct jail *j, bool private_network,
			 struct remit_error *err) must_check;
/* Clone pid 1 into new namespaces that belong to user `owner`, and release
   it. */
int jail_start(struct jail *j, struct blueprint *b, uint32_t owner,
	       struct remit_error *err) must_check;
void jail_fill_params(struct lock_params *out, const struct plan *plan);
void jail_fill_workspace(struct lock_params *out, const struct plan *plan);
/* The interpreter gets no environment: test builds pass REMIT_FAIL_STEP to it
   in this way. */
void jail_note_fail_step(struct lock_params *params, enum step_id from,
			 enum step_id to);

/* Called when a process has joined the jail: close what joining needed. */
void jail_close_entry(struct jail *j, bool but_namespaces);

/* Runs pid 1, from its first instruction on. */
void child_run(struct blueprint *b) __attribute__((noreturn));
/* Runs pid 1 once the jail is built. Drops all capabilities and keeps only the
   lifeline open. Reports how main_pid ended, or, with reports_all, how each
   child ended: branches of the code. */
void init_run(int lifeline, pid_t main_pid, bool reports_all)
	__attribute__((noreturn));
/* Runs the only process of a bare jail: builds it, enters it, and becomes the
   interpreter. */
void child_run_bare(struct blueprint *b) __attribute__((noreturn));

#endif
