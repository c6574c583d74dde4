/*
 * cgroup_home: the cgroup below which the cgroups of runs are created, for each
 * controller. On version 1 it is the cgroup of this process. On version 2 it is
 * the one above, if that was delegated to us (see cgroup/leaf.c).
 *
 * The keeper locks the directory of each run (flock on the directory itself).
 * An unlocked directory was left by a killed keeper.
 */
#ifndef REMIT_CGROUP_HOME_H
#define REMIT_CGROUP_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

/* The directory of a run has this prefix, followed by the run's id. */
#define CGROUP_PREFIX "remit-"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_KILL,
	CGROUP_SHARE, /* of processor time among runs */
	CGROUP_CONTROLLERS,
};

struct cgroup_place {
	bool usable;
	bool v2;
	int fd;		     /* the cgroup below which runs get theirs */
	char path[PATH_MAX]; /* path of fd */
	char why[160];	     /* where it was found, or what failed */
};

struct cgroup_home {
	struct cgroup_place at[CGROUP_CONTROLLERS];
};

#define CGROUP_HOME_INIT                                                \
	{                                                               \
		.at = { [0 ... CGROUP_CONTROLLERS - 1] = { .fd = -1 } } \
	}

/* Look for a usable place for every controller, by creating and removing a
   cgroup. Never fails: `why` explains what is missing. */
void cgroup_home_find(struct cgroup_home *h);
/* Open the places that an earlier search found, without trying them: a run that
   cannot create its cgroups is refused. */
int cgroup_home_open(struct cgroup_home *h, const struct host *host,
		     struct remit_error *err) must_check;
void cgroup_home_free(struct cgroup_home *h);

/* If version 2 has the memory controller, the cgroup of this process, and the
   one below which runs get theirs (possibly the same). Return -1 if version 1
   has it. */
int cgroup_home_own(char *out, size_t size) must_check;
int cgroup_home_directory(char *out, size_t size) must_check;
/* The memory that this process may use: the machine's, or less if a cgroup
   above it has a limit. */
uint64_t cgroup_home_memory_bytes(void);
/* systemd marks a cgroup that it has delegated to its user with an extended
   attribute: read or set this mark. */
bool cgroup_home_is_delegated(const char *directory);
int cgroup_home_mark_delegated(const char *directory) must_check;

/* Create a cgroup in this directory and lock it. Returns its descriptor, or -1
   with errno. */
int cgroup_home_make(int directory, const char *name) must_check;
/* Remove the cgroups of dead keepers: below the cgroup of this process or, with
   `everywhere`, below every cgroup, waiting a moment for those whose processes
   are still dying. Returns how many were removed. */
unsigned cgroup_home_clean(bool everywhere);

enum cgroup_leaf {
	CGROUP_LEAF_STAYED,
	CGROUP_LEAF_ENTERED,
	CGROUP_LEAF_LATE, /* stayed: systemd missed DEADLINE_SCOPE */
};

/*
 * Move this process to a leaf cgroup (cgroup/leaf.c). It stays where it is if
 * version 2 does not have the memory controller, if it is in a leaf already or
 * in the root cgroup, or if no cgroup is delegated to it and systemd grants
 * none.
 */
enum cgroup_leaf cgroup_leaf_enter(void);

#endif
