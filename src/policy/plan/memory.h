/*
 * plan_memory: the limit for all memory of a run. Without a memory cgroup,
 * computes how much address space the one process may have so that everything
 * stays within memory_bytes.
 *
 *	memory_bytes = address space + its page tables, if every page has
 *	               its own
 *	             + the writable file systems (bytes, and their inodes)
 *	             + pipe and socket buffers of every descriptor
 *	             + kernel stacks of every thread
 *
 * The filter (FILTER_STRICT_MEMORY) refuses kernel memory that none of these
 * terms counts: shared anonymous memory, memory files, larger pipes,
 * descriptors in flight, epoll, record locks.
 */
#ifndef REMIT_PLAN_MEMORY_H
#define REMIT_PLAN_MEMORY_H

#include "policy/host.h"
#include "policy/policy.h"

struct memory_bound {
	uint64_t address_space; /* 0: too little is left for a process */
	uint64_t page_tables;
	uint64_t files;
	uint64_t kernel;
};

/* Returns the size of the writable file system: disk_bytes if the policy sets
   it, else at most an eighth of the memory. */
uint64_t memory_bound_disk(const struct policy *p);

void memory_bound_compute(struct memory_bound *out, const struct policy *p,
			  const struct host *h);

#endif
