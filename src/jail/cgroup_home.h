/*
 * cgroup_home: the groups in which this process stands and below which runs
 * get groups of their own, for each controller, on version 1 and 2 alike.
 *
 * A run's folder is locked by its keeper (flock on the folder itself), so that
 * what a killed keeper left can be told from what is in use.
 */
#ifndef REMIT_CGROUP_HOME_H
#define REMIT_CGROUP_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "host.h"

/* A run's folder is this and the run's id. */
#define CGROUP_PREFIX "remit-"

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
	int fd;		     /* of our own group; -1 if not usable */
	char path[PATH_MAX]; /* of our own group */
	char why[160];	     /* how it was found, or what failed */
};

struct cgroup_home {
	struct cgroup_place at[CGROUP_CONTROLLERS];
};

#define CGROUP_HOME_INIT               \
	{                              \
		.at = { { .fd = -1 },  \
			{ .fd = -1 },  \
			{ .fd = -1 },  \
			{ .fd = -1 } } \
	}

/* Finds a place for every controller for which there is one, by making a
   group and removing it. Never fails: what is missing is said in `why`. */
void cgroup_home_find(struct cgroup_home *h);
/* The same from what an earlier look has found, without trying: a run that
 * cannot make its groups is refused. */
int cgroup_home_open(struct cgroup_home *h, const struct host *host,
		     struct remit_error *err) must_check;
void cgroup_home_free(struct cgroup_home *h);

/* Remove the groups of keepers that are gone, in the group of this process or,
   if `everywhere`, in every group there is, waiting a moment for those whose
   processes are still dying; returns how many. */
unsigned cgroup_home_clean(bool everywhere);

#endif
