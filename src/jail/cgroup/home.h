/*
 * cgroup_home: the groups below which runs get groups of their own, for each
 * controller: on version 1 those in which this process stands, on version 2
 * the one above, if it was given to us (see jail/cgroup/leaf.c).
 *
 * A run's directory is locked by its keeper (flock on the directory itself), so
 * that what a killed keeper left can be told from what is in use.
 */
#ifndef REMIT_CGROUP_HOME_H
#define REMIT_CGROUP_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

/* A run's directory is this and the run's id. */
#define CGROUP_PREFIX "remit-"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_KILL,
	CGROUP_SHARE, /* of processor time, against other runs */
	CGROUP_CONTROLLERS,
};

struct cgroup_place {
	bool usable;
	bool v2;
	int fd;		     /* of the group below which runs have theirs */
	char path[PATH_MAX]; /* of the same */
	char why[160];	     /* how it was found, or what failed */
};

struct cgroup_home {
	struct cgroup_place at[CGROUP_CONTROLLERS];
};

#define CGROUP_HOME_INIT                                                \
	{                                                               \
		.at = { [0 ... CGROUP_CONTROLLERS - 1] = { .fd = -1 } } \
	}

/* Finds a place for every controller for which there is one, by making a
   group and removing it. Never fails: what is missing is said in `why`. */
void cgroup_home_find(struct cgroup_home *h);
/* The same from what an earlier look has found, without trying: a run that
 * cannot make its groups is refused. */
int cgroup_home_open(struct cgroup_home *h, const struct host *host,
		     struct remit_error *err) must_check;
void cgroup_home_free(struct cgroup_home *h);

/* Our own group where version 2 has the memory, and the group below which runs
   have theirs, which may be the same; -1 if version 1 has it. */
int cgroup_home_own(char *out, size_t size) must_check;
int cgroup_home_directory(char *out, size_t size) must_check;
/* The memory that this process may use: the machine's, or less if a group above
   it has a limit. */
uint64_t cgroup_home_memory_bytes(void);
/* The mark by which systemd says that a group is its user's to arrange. */
bool cgroup_home_is_delegated(const char *directory);
int cgroup_home_mark_delegated(const char *directory) must_check;

/* A new group in this directory, locked; its descriptor, or -1 with errno. */
int cgroup_home_make(int directory, const char *name) must_check;
/* Remove the groups of keepers that are gone, in the group of this process or,
   if `everywhere`, in every group there is, waiting a moment for those whose
   processes are still dying; returns how many. */
unsigned cgroup_home_clean(bool everywhere);

/*
 * This process moves to a leaf (cgroup/leaf.c). Whether it has moved: it stays
 * where it is if version 2 does not have the memory, if it is in a leaf already
 * or in the top group, and where no group is delegated to it and systemd gives
 * none.
 */
bool cgroup_leaf_enter(void);

#endif
