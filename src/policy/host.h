/*
 * host: what this machine and this user can enforce. The values come from
 * trying it in a throw-away jail (jail/probe/probe.h), never from reading
 * sysctls; here are only the facts, their names and their remedies.
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
	bool needed;	      /* the local tier refuses without it */
	const char *sentence; /* what it is for */
	const char *remedy;   /* what to do where it is missing */
};

extern const struct capability_info capabilities[CAN_COUNT];

struct host {
	bool by_root;
	uint32_t uid;
	struct {
		bool yes;
		char why[200]; /* how it was seen, or what failed */
	} can[CAN_COUNT];
	int landlock_abi;
	uint32_t cgroups_v2; /* which groups are of version 2, in the order of
				the capabilities from CAN_CGROUP_MEMORY on */
	uint32_t cpus;	     /* in this process's affinity mask */
	uint64_t page_bytes;
	uint64_t socket_buffer_bytes; /* one default socket's queue */
	char kernel[128];
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

/* Why nothing is known of a capability: what comes before it failed. */
#define HOST_NOT_REACHED "not reached"

/* A capability that a jailed tier needs and the host has not, the first that
   was tried; or CAN_COUNT: the tier works here. */
enum capability host_lacks(const struct host *h, enum tier tier);

/* What to do about a capability that the host has not. */
const char *host_remedy(const struct host *h, enum capability c);

json_t *host_to_json(const struct host *h);
/* For the cache: -1 if the document is not one of ours. */
int host_from_json(struct host *h, const json_t *doc,
		   struct remit_error *err) must_check;

#endif
