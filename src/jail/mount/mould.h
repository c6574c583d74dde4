/*
 * mould: the finished root of a plan's jails, kept as a mount namespace that
 * no process is in. A jail cast from it has a copy of all its mounts and adds
 * only what can be written, which is quicker than to build each root.
 */
#ifndef REMIT_MOULD_H
#define REMIT_MOULD_H

#include "jail/blueprint.h"
#include "jail/jail.h"

struct mould {
	int mounts; /* the namespace; -1 if there is none */
	/* Where the keeper stands otherwise: namespace, root, folder. */
	int home, home_root, home_folder;
	struct contents contents; /* open, for rules_begin() */
};

#define MOULD_INIT           \
	{ .mounts = -1,      \
	  .home = -1,        \
	  .home_root = -1,   \
	  .home_folder = -1, \
	  .contents = CONTENTS_INIT }

/* Whether all that is mounted is the same for every jail of the plan, and
   nothing of it lies in what can be written. */
bool mould_fits(const struct plan *plan);
int mould_make(struct mould *m, const struct plan *plan,
	       const struct jail_site *site,
	       struct remit_error *err) must_check;
void mould_free(struct mould *m);

/* Stand in it, for a clone, and go back. Single-threaded only. */
int mould_enter(const struct mould *m) must_check;
void mould_leave(const struct mould *m);

#endif
