/*
 * cgroup_leaf: this process moves to where runs can get groups of version 2.
 *
 * There a group that has processes of its own cannot limit the groups below it
 * (cgroups(7), "no internal processes"). So the keeper stands in a leaf of a
 * group that was delegated to it, and the groups of runs are beside it.
 */
#ifndef REMIT_CGROUP_LEAF_H
#define REMIT_CGROUP_LEAF_H

#include <stdbool.h>

/* Whether it has moved. It stays where it is if version 2 does not have the
   memory, if it is in a leaf already or in the top group, and where no group
   is delegated to it and systemd gives none. */
bool cgroup_leaf_enter(void);

#endif
