/*
 * root_template: the finished root of a plan's jails, kept as a mount namespace
 * without processes. A jail cloned from it gets a copy of all its mounts and
 * adds only the writable directories, which is faster than building each root.
 */
#ifndef REMIT_ROOT_TEMPLATE_H
#define REMIT_ROOT_TEMPLATE_H

#include "jail/blueprint.h"
#include "jail/jail.h"

struct root_template {
	int mounts; /* the namespace; -1: none */
	/* The keeper's normal namespace, root and working directory. */
	int home, home_root, home_directory;
	struct contents contents; /* kept open for rules_begin() */
};

#define ROOT_TEMPLATE_INIT      \
	{ .mounts = -1,         \
	  .home = -1,           \
	  .home_root = -1,      \
	  .home_directory = -1, \
	  .contents = CONTENTS_INIT }

/* Whether all mounts are the same for every jail of the plan, and none of them
   is inside a writable directory. */
bool root_template_fits(const struct plan *plan);
int root_template_make(struct root_template *m, const struct plan *plan,
		       const struct jail_site *site,
		       struct remit_error *err) must_check;
void root_template_free(struct root_template *m);

/* Move the keeper into the template for a clone, and back. Single-threaded
   only. */
int root_template_enter(const struct root_template *m) must_check;
void root_template_leave(const struct root_template *m);

#endif
