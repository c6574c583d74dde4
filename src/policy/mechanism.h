/*
 * mechanism: the kernel facilities, and the actions of the keeper, that enforce
 * policy fields. Their names appear in every result.
 */
#ifndef REMIT_MECHANISM_H
#define REMIT_MECHANISM_H

#include <stdint.h>

enum mechanism {
	MECH_MOUNT_NAMESPACE,
	MECH_NETWORK_NAMESPACE,
	MECH_LANDLOCK,
	MECH_SECCOMP,
	MECH_TMPFS_SIZE,
	MECH_TMPFS_INODES,
	MECH_CGROUP_MEMORY,
	MECH_CGROUP_PIDS,
	MECH_CGROUP_CPU,
	MECH_RLIMIT_AS,
	MECH_RLIMIT_CPU,
	MECH_RLIMIT_NPROC,
	MECH_RLIMIT_NOFILE,
	MECH_RLIMIT_FSIZE,
	MECH_AFFINITY,
	MECH_EMPTY_ENVIRONMENT,
	MECH_TIMER,
	MECH_CAPTURE,
	MECH_FRAME_CAP,
	MECH_VALIDATOR,
	MECH_OVERLAY,
	MECH_COMMIT,
	MECH_OPENAT2,
	MECH_EXPORT_CAP,
	MECH_PROXY,
	MECH_CPU_CLOCK,
	MECH_BRIDGE,
	MECH_NOEXEC_MOUNT,
	MECH_LINEAR_MEMORY,
	MECH_COUNT,
};

/* A set of mechanisms, one bit each. */
#define MECH(name) (UINT64_C(1) << MECH_##name)

struct mechanism_info {
	const char *name;     /* in results: "mount_namespace" */
	const char *sentence; /* what it does */
};

extern const struct mechanism_info mechanisms[MECH_COUNT];

/* Returns -1 if there is no mechanism of that name. */
int mechanism_find(const char *name);

#endif
