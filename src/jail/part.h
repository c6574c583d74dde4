/*
 * jail_part: what the parts of a jail's making know of each other: both ways
 * (jail.c), the warm one (jail/warm.c), the first process (jail/child.c and
 * jail/init.c), and what warm ones are made from (root_template.c, zygote.c).
 * For these files only.
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

/* What comes with the word that a jail is built, in this order; bits of the
   report's detail say which are there. */
enum built_fd {
	BUILT_RULESET,
	BUILT_WORKSPACE,
	BUILT_UPPER, /* the first of those of directories of mode rw */
	BUILT_FDS = BUILT_UPPER + PLAN_WRITE_ROOTS_MAX,
};

/* Whether pid 1 of a cold jail has anything for the keeper. */
static inline bool
jail_sends_built(const struct plan *p)
{
	return p->exports || p->write_roots || p->forkable;
}

/* Everything before the clone. */
int jail_lay_out(struct jail *j, struct blueprint *b,
		 const struct jail_site *site, int in, const char *name,
		 struct remit_error *err) must_check;
/* A descriptor gets a number above those that mean something inside. */
int jail_move_up(int *fd, struct remit_error *err) must_check;
int jail_make_ends(struct jail *j, struct blueprint *b, int in,
		   struct remit_error *err) must_check;
int jail_acquire_groups(struct jail *j, const struct plan *plan,
			const struct jail_site *site, const char *name,
			struct remit_error *err) must_check;
/* While pid 1 waits to be released: later it cannot be looked at any more. */
int jail_open_namespaces(struct jail *j, bool proxied,
			 struct remit_error *err) must_check;
/* The clone, as a namespace of user `owner`, and the release of pid 1. */
int jail_start(struct jail *j, struct blueprint *b, uint32_t owner,
	       struct remit_error *err) must_check;
void jail_fill_params(struct lock_params *out, const struct plan *plan);
/* The interpreter has no environment to look at: test builds tell it so. */
void jail_note_fail_step(struct lock_params *params, enum step_id from,
			 enum step_id to);

/* Somebody has joined. */
void jail_close_entry(struct jail *j, bool but_namespaces);

/* Pid 1, from its first instruction on. */
void child_run(struct blueprint *b) __attribute__((noreturn));
/* Never returns. Tells how main_pid ended, or every child: branches of the
   code. Drops all rights, keeps only the lifeline open. */
void init_run(int lifeline, pid_t main_pid, bool reports_all)
	__attribute__((noreturn));
/* The one process of a bare jail: it builds, enters, and is the code. */
void child_run_bare(struct blueprint *b) __attribute__((noreturn));

#endif
