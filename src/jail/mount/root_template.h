/*
 * root_template: the finished root of a plan's jails, kept as a mount namespace
 * that no process is in. A jail cloned from it has a copy of all its mounts and
 * adds only what can be written, which is quicker than to build each root.
 */
#ifndef REMIT_ROOT_TEMPLATE_H
#define REMIT_ROOT_TEMPLATE_H

#include "jail/blueprint.h"
#include "jail/jail.h"

struct root_template {
	int mounts; /* the namespace; -1 if there is none */
	/* Where the keeper stands otherwise: namespace, root, directory. */
	int home, home_root, home_directory;
	struct contents contents; /* open, for rules_begin() */
};

#define ROOT_TEMPLATE_INIT      \
	{ .mounts = -1,         \
	  .home = -1,           \
	  .home_root = -1,      \
	  .home_directory = -1, \
	  .contents = CONTENTS_INIT }

/* Whether all that is mounted is the same for every jail of the plan, and
   nothing of it lies in what can be written. */
bool root_template_fits(const struct plan *plan);
int root_template_make(struct root_template *m, const struct plan *plan,
		       const struct jail_site *site,
		       struct remit_error *err) must_check;
void root_template_free(struct root_template *m);

/* Stand in it, for a clone, and go back. Single-threaded only. */
int root_template_enter(const struct root_template *m) must_check;
void root_template_leave(const struct root_template *m);

#endif
