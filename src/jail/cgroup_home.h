/*
 * cgroup_home: the folders in which this keeper may make groups, one for each
 * controller, on version 1 and 2 hierarchies alike. A home is locked by its
 * keeper (flock on the folder itself), so that what a killed keeper left can
 * be told from what is in use.
 */
#ifndef REMIT_CGROUP_HOME_H
#define REMIT_CGROUP_HOME_H

#include <limits.h>
#include <stdbool.h>

#include "error.h"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_KILL,
	CGROUP_CONTROLLERS,
};

struct cgroup_place {
	bool usable;
	bool v2;
	int fd;		     /* of the home, locked; -1 if not usable */
	char path[PATH_MAX]; /* of the home */
	char why[160];	     /* how it was found, or what failed */
};

struct cgroup_home {
	struct cgroup_place at[CGROUP_CONTROLLERS];
};

/* Makes a home for every controller for which that is possible. Never fails:
   what is missing is said in `why`. */
void cgroup_home_make(struct cgroup_home *h);
void cgroup_home_free(struct cgroup_home *h);

/* Remove the homes of keepers that are gone; returns how many. */
unsigned cgroup_home_clean(void);

#endif
