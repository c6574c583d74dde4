#include "policy/plan/memory.h"

#include <stdio.h>

#include "policy/fields/field.h"
#include "policy/plan/part.h"

/* ---- the bound ---- */

/* An inode, its directory entry and a share of its directory. */
#define INODE_BYTES 2048
/* A thread's stack in the kernel, its task structure and its signal state. */
#define THREAD_BYTES (32 * 1024)
/* An open file, its table slot, an epoll item, a timer. */
#define DESCRIPTOR_BYTES 2048
/*
 * The worst case of one page: code can touch one page of every mapping, each in
 * a different gigabyte. Then each page needs its own page table and one of the
 * level above, plus the kernel's structure of the mapping.
 */
#define LONE_PAGE_BYTES (8 * 1024 + 512)
/* vm.max_map_count, at its default. */
#define MAPPINGS_MAX 65530
/* CPython does not start with less. */
#define SMALLEST_SPACE (UINT64_C(40) << 20)

/* Returns the largest address space whose worst case fits into `rest`. */
static uint64_t
space_within(uint64_t rest, uint64_t page)
{
	uint64_t all = MAPPINGS_MAX * (page + LONE_PAGE_BYTES);

	if (rest >= all)
		return rest - MAPPINGS_MAX * (uint64_t)LONE_PAGE_BYTES;
	return rest / (page + LONE_PAGE_BYTES) * page;
}

uint64_t
memory_bound_disk(const struct policy *p)
{
	const struct field *f = &fields[F_DISK_BYTES];
	uint64_t share = p->memory_bytes / 8;

	return field_is_default(p, f) && share < p->disk_bytes ? share
							       : p->disk_bytes;
}

/* Returns the sum of overlays with their own file system. Other overlays count
   as part of the workspace. */
static uint64_t
own_overlays(const struct policy *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->mounts.count; i++)
		if (p->mounts.items[i].max_bytes)
			sum += p->mounts.items[i].max_bytes +
			       p->files * INODE_BYTES;
	return sum;
}

void
memory_bound_compute(struct memory_bound *out, const struct policy *p,
		     const struct host *h)
{
	uint64_t files =
		memory_bound_disk(p) + p->files * INODE_BYTES + own_overlays(p);
	uint64_t kernel =
		p->open_files * (h->socket_buffer_bytes + DESCRIPTOR_BYTES) +
		p->processes * THREAD_BYTES;
	uint64_t rest, space;

	*out = (struct memory_bound){ .files = files, .kernel = kernel };
	if (p->memory_bytes <= files + kernel)
		return;
	rest = p->memory_bytes - files - kernel;
	space = space_within(rest, h->page_bytes);
	space -= space % h->page_bytes;
	if (space < SMALLEST_SPACE)
		return;
	out->address_space = space;
	out->page_tables = rest - space;
}

/* ---- the decision ---- */

/*
 * Without a cgroup the limit is enforced by the address space of the one
 * process. Everything else that uses memory must be limited as well, and the
 * sum must not exceed the field.
 */
static int
decide_memory_alone(struct decision *d, struct remit_error *err)
{
	struct memory_bound b;

	memory_bound_compute(&b, d->policy, d->host);
	if (!b.address_space)
		return plan_refuse_group(
			d, err,
			"Raise --memory, lower --disk, --files or "
			"--open-files, run in a writable memory cgroup, or "
			"accept a limit for the process alone: "
			"--memory-fallback per_process.",
			"%llu MiB are too little for the process: without a "
			"memory cgroup (%s), files of %llu MiB, kernel buffers "
			"of %llu MiB and page tables count as well",
			(unsigned long long)d->policy->memory_bytes >> 20,
			d->host->can[CAN_CGROUP_MEMORY].why,
			(unsigned long long)b.files >> 20,
			(unsigned long long)b.kernel >> 20);
	if (plan_note_kept(d, MECH(RLIMIT_AS)))
		d->plan->limits.address_space_bytes = b.address_space;
	d->plan->disk_share_bytes = memory_bound_disk(d->policy);
	if (plan_note_kept(d, MECH(SECCOMP)))
		d->plan->filter |= PLAN_FILTER_STRICT_MEMORY;
	snprintf(d->row->note, sizeof(d->row->note),
		 "no cgroup: %llu MiB address space + %llu MiB its page tables "
		 "+ %llu MiB files + %llu MiB kernel buffers",
		 (unsigned long long)b.address_space >> 20,
		 (unsigned long long)b.page_tables >> 20,
		 (unsigned long long)b.files >> 20,
		 (unsigned long long)b.kernel >> 20);
	return 0;
}

/* The program around the guest: its text and data, its stack, its table of
   descriptors and its page tables. */
#define WASM_HOST_BYTES (UINT64_C(48) << 20)
/* CPython does not start with less. */
#define SMALLEST_GUEST (UINT64_C(24) << 20)
/* Addresses in a guest have 32 bits. */
#define LARGEST_GUEST (UINT64_C(65535) << 16)

/*
 * The guest's memory is one array that grows in pages of 64 KiB up to a limit.
 * The field also covers files and kernel buffers if a host has no cgroup.
 */
static int
decide_linear(struct decision *d, struct remit_error *err)
{
	uint64_t memory = d->policy->memory_bytes, rest = WASM_HOST_BYTES;
	bool group = d->host->can[CAN_CGROUP_MEMORY].yes;
	struct memory_bound b;

	if (memory == POLICY_UNLIMITED) {
		d->plan->limits.linear_bytes = LARGEST_GUEST;
		plan_grant(d, "no limit below 4 GiB, which is the most that "
			      "WebAssembly can have");
		return 0;
	}
	memory_bound_compute(&b, d->policy, d->host);
	if (!group)
		rest += b.files + b.kernel;
	if (memory < rest + SMALLEST_GUEST)
		return fail_refused(
			err, d->field->name,
			"Raise --memory; without a memory cgroup, lower --disk "
			"and --files instead.",
			"%llu MiB are too little for the tier \"%s\": it needs "
			"%llu MiB",
			(unsigned long long)memory >> 20,
			tiers[d->plan->tier].name,
			(unsigned long long)(rest + SMALLEST_GUEST) >> 20);
	if (group && plan_note_kept(d, MECH(CGROUP_MEMORY)))
		d->plan->limits.memory_cgroup_bytes = memory;
	if (!group)
		d->plan->disk_share_bytes = memory_bound_disk(d->policy);
	memory = memory - rest < LARGEST_GUEST ? memory - rest : LARGEST_GUEST;
	d->plan->limits.linear_bytes = memory;
	plan_note_kept(d, MECH(LINEAR_MEMORY));
	snprintf(d->row->note, sizeof(d->row->note),
		 "%llu MiB for the interpreter's memory",
		 (unsigned long long)memory >> 20);
	return 0;
}

int
decide_memory(struct decision *d, struct remit_error *err)
{
	const struct policy *p = d->policy;

	if (is_wasm(d))
		return decide_linear(d, err);
	if (p->memory_bytes == POLICY_UNLIMITED) {
		plan_grant(d, "no limit");
		return 0;
	}
	if (d->host->can[CAN_CGROUP_MEMORY].yes) {
		if (plan_note_kept(d, MECH(CGROUP_MEMORY))) {
			d->plan->limits.memory_cgroup_bytes = p->memory_bytes;
			snprintf(d->row->note, sizeof(d->row->note),
				 "except file locks, which no cgroup counts");
			if (has_sockets(p))
				d->plan->limits.tcp_cgroup_bytes =
					p->memory_bytes / 4;
		}
		return 0;
	}
	if (!p->subprocess_execution && !has_sockets(p) &&
	    !p->memory_fallback && !is_bare(d))
		return decide_memory_alone(d, err);
	if (!p->memory_fallback && is_bare(d))
		return plan_refuse_group(
			d, err,
			"Accept a limit for the process alone: "
			"--memory-fallback per_process (--preset landlock).",
			"no writable memory cgroup (%s), and without one, "
			"files, threads and kernel buffers are not counted",
			d->host->can[CAN_CGROUP_MEMORY].why);
	if (!p->memory_fallback)
		return plan_refuse_group(
			d, err,
			"Run in a login session with a user systemd, in a leaf "
			"of a cgroup that you own or as root, or accept a "
			"limit for each process: --memory-fallback per_process "
			"(with subprocesses also --cpu-fallback per_process).",
			"cannot be enforced with %s on: no writable memory "
			"cgroup (%s), and without one, %s not counted",
			p->subprocess_execution ? "subprocess_execution"
			: p->network_access	? "network_access"
						: "network_allow",
			d->host->can[CAN_CGROUP_MEMORY].why,
			p->subprocess_execution
				? "all processes together are"
				: "the kernel's network buffers are");
	d->row->strength = STRENGTH_FALLBACK;
	if (plan_note_kept(d, MECH(RLIMIT_AS)))
		d->plan->limits.address_space_bytes = p->memory_bytes;
	snprintf(d->row->note, sizeof(d->row->note), "%s",
		 is_bare(d) ? "address space of the one process; files, "
			      "threads and kernel buffers are not counted"
			    : "for each process alone");
	return 0;
}
