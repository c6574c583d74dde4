#include "policy/plan/memory_bound.h"

#include "policy/fields/field.h"

/* An inode, its directory entry and a share of its directory. */
#define INODE_BYTES 2048
/* A thread's stack in the kernel, its task structure and its signal state. */
#define THREAD_BYTES (32 * 1024)
/* An open file, its table slot, an epoll item, a timer. */
#define DESCRIPTOR_BYTES 2048
/*
 * A page on its own needs a page table of its own, and one of the level above:
 * code can keep one page of every mapping, each in another gigabyte. What
 * stands for the mapping itself comes on top.
 */
#define LONE_PAGE_BYTES (8 * 1024 + 512)
/* vm.max_map_count, at its default. */
#define MAPPINGS_MAX 65530
/* CPython does not start in less. */
#define SMALLEST_SPACE (UINT64_C(40) << 20)

/* The most address space whose worst case fits into `rest`. */
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

/* Layers that share the workspace's file system are counted with it. */
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
