/*
 * idmap: user namespaces that exist only to say how a mount shows its owners.
 */
#ifndef REMIT_IDMAP_H
#define REMIT_IDMAP_H

#include <stdint.h>

#include "base/error.h"

/* A descriptor in *out: on a mount with it, files of owner and group appear as
   those of jail_uid. Needs root. */
int idmap_make(int *out, uint32_t owner, uint32_t group, uint32_t jail_uid,
	       struct remit_error *err) must_check;

/* Write /proc/PID/uid_map and gid_map with one entry each. */
int idmap_write(pid_t pid, uint32_t inside_uid, uint32_t outside_uid,
		uint32_t inside_gid, uint32_t outside_gid,
		struct remit_error *err) must_check;

/* The same, by another view of /proc; -1 with errno. Allocates nothing. */
int idmap_write_at(int proc, pid_t pid, uint32_t inside, uint32_t outside);

#endif
