/*
 * idmap: user namespaces that only define how a mount shows the owners of
 * files, and id maps of processes.
 */
#ifndef REMIT_IDMAP_H
#define REMIT_IDMAP_H

#include <stdint.h>

#include "base/error.h"

/* Make a user namespace for an idmapped mount on which files of owner and group
   appear to belong to jail_uid. *out is its descriptor. Needs root. */
int idmap_make(int *out, uint32_t owner, uint32_t group, uint32_t jail_uid,
	       struct remit_error *err) must_check;

/* Write /proc/PID/uid_map and gid_map with one entry each. */
int idmap_write(pid_t pid, uint32_t inside_uid, uint32_t outside_uid,
		uint32_t inside_gid, uint32_t outside_gid,
		struct remit_error *err) must_check;

/* Like idmap_write(), below the given /proc. Returns -1 with errno. Allocates
   nothing. */
int idmap_write_at(int proc, pid_t pid, uint32_t inside, uint32_t outside);

#endif
