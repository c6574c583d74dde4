/*
 * memory_bound: how much address space the one process may have so that all
 * memory of a run stays within memory_bytes where no memory cgroup counts it.
 *
 *	memory_bytes = address space + its page tables
 *	             + the writable file systems (bytes, and their inodes)
 *	             + pipe and socket buffers of every descriptor
 *	             + kernel stacks of every thread
 *
 * The filter (FILTER_STRICT_MEMORY) refuses what none of these counts: shared
 * anonymous memory, memory files, larger pipes, descriptors in flight.
 */
#ifndef REMIT_MEMORY_BOUND_H
#define REMIT_MEMORY_BOUND_H

#include "host.h"
#include "policy.h"

struct memory_bound {
	uint64_t address_space; /* 0: nothing useful is left */
	uint64_t files;
	uint64_t kernel;
};

void memory_bound_compute(struct memory_bound *out, const struct policy *p,
			  const struct host *h);

#endif
