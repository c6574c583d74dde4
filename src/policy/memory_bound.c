#include "memory_bound.h"

/* An inode, its directory entry and a share of its folder. */
#define INODE_BYTES 2048
/* A thread's stack in the kernel, its task structure and its signal state. */
#define THREAD_BYTES (32 * 1024)
/* An open file, its table slot, an epoll item, a timer. */
#define DESCRIPTOR_BYTES 2048
/* A page table entry for each 4 KiB page is 1/512 of what it maps; the upper
   levels add 1/512 of that. */
#define PAGE_TABLE_SHARE 500
/* CPython does not start in less. */
#define SMALLEST_SPACE (UINT64_C(48) << 20)

void
memory_bound_compute(struct memory_bound *out, const struct policy *p,
		     const struct host *h)
{
	uint64_t files = p->disk_bytes + p->files * INODE_BYTES;
	uint64_t kernel =
		p->open_files * (h->socket_buffer_bytes + DESCRIPTOR_BYTES) +
		p->processes * THREAD_BYTES;
	uint64_t rest;

	*out = (struct memory_bound){ .files = files, .kernel = kernel };
	if (p->memory_bytes <= files + kernel)
		return;
	rest = p->memory_bytes - files - kernel;
	rest -= rest / PAGE_TABLE_SHARE;
	rest -= rest % h->page_bytes;
	if (rest >= SMALLEST_SPACE)
		out->address_space = rest;
}
