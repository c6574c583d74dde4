/*
 * host: what this machine and this user can enforce. The facts come from
 * attempts in a test jail (jail/probe/probe.h), never from reading sysctls.
 * This module has only their names, remedies and JSON form.
 */
#ifndef REMIT_HOST_H
#define REMIT_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "policy/policy.h"

enum capability {
	CAN_USER_NAMESPACE,
	CAN_ID_MAPS,
	CAN_MOUNT,
	CAN_PIVOT_ROOT,
	CAN_IDMAPPED_MOUNTS,
	CAN_PID_NAMESPACE,
	CAN_NETWORK_NAMESPACE,
	CAN_NO_USER_NAMESPACES_INSIDE,
	CAN_MEMFD_NOEXEC,
	CAN_LANDLOCK,
	CAN_SECCOMP,
	CAN_RLIMITS,
	CAN_SELF_TEST,
	CAN_OVERLAY,
	CAN_LANDLOCK_TIER,
	CAN_CGROUP_MEMORY,
	CAN_CGROUP_PIDS,
	CAN_CGROUP_CPU,
	CAN_CGROUP_KILL,
	CAN_CGROUP_SHARE,
	CAN_COUNT,
};

struct capability_info {
	const char *name;
	bool needed;	      /* the tier local cannot work without it */
	const char *sentence; /* what it provides */
	const char *remedy;   /* what to do if it is missing */
};

extern const struct capability_info capabilities[CAN_COUNT];

struct host {
	bool by_root;
	uint32_t uid;
	struct {
		bool yes;
		char why[200]; /* the evidence, or what failed */
	} can[CAN_COUNT];
	int landlock_abi;
	uint32_t cgroups_v2; /* which control groups are of version 2: a bit for
				each capability from CAN_CGROUP_MEMORY on */
	uint32_t cpus;	     /* processors in this process's affinity mask */
	uint64_t page_bytes;
	uint64_t socket_buffer_bytes; /* default buffer size of a socket */
	char kernel[128];
	/* Control groups are missing because systemd missed DEADLINE_SCOPE: not
	   cached. */
	bool scope_is_late;
#ifdef REMIT_HOLES
	uint64_t left_out; /* MECH() bits; only in test builds */
#endif
};

static inline uint64_t
host_left_out(const struct host *h)
{
#ifdef REMIT_HOLES
	return h->left_out;
#else
	(void)h;
	return 0;
#endif
}

/* The value of `why` if a capability was not tried, because an earlier step
   failed. */
#define HOST_NOT_REACHED "not reached"

/* Returns the first capability that a jailed tier needs and the host lacks;
   CAN_COUNT if the tier works here. */
enum capability host_lacks(const struct host *h, enum tier tier);

/* Returns what to do about a missing capability. */
const char *host_remedy(const struct host *h, enum capability c);

json_t *host_to_json(const struct host *h);
/* Reads what host_to_json() wrote. Returns -1 for any other document. */
int host_from_json(struct host *h, const json_t *doc,
		   struct remit_error *err) must_check;

#endif
