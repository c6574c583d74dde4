/*
 * huge: huge pages, for memory that a zygote shares with its children.
 *
 * Pages of a mapped file are faulted in again in every forked child, sixteen by
 * one fault. For anonymous memory, fork copies the page tables, and two
 * megabytes in a huge page are one entry.
 */
#include "module.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE ((uintptr_t)1 << HUGE_PAGE_BITS)
#define PAGE ((uintptr_t)4096)

/* Adjacent read-only segments. */
struct span {
	uintptr_t inside; /* the address to find */
	uintptr_t begin, end;
};

static uintptr_t
round_up(uintptr_t at, uintptr_t unit)
{
	return (at + unit - 1) & ~(unit - 1);
}

/* A callback of dl_iterate_phdr(3). The segments of an object are in order. */
static int
find_segments(struct dl_phdr_info *object, size_t size, void *user)
{
	struct span *s = user;
	uintptr_t begin = 0, end = 0;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t at = (object->dlpi_addr + p->p_vaddr) & ~(PAGE - 1);

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_flags & PF_W || at != end)
			begin = at;
		end = p->p_flags & PF_W
			      ? 0
			      : round_up(object->dlpi_addr + p->p_vaddr +
						 p->p_filesz,
					 PAGE);
		if (begin <= s->inside && s->inside < end)
			*s = (struct span){ s->inside, begin, end };
	}
	return s->end != 0;
}

bool
huge_collapse(uintptr_t at)
{
	return madvise((void *)at, HUGE, MADV_COLLAPSE) == 0;
}

/* Copies to a new huge page. Returns NULL on failure. */
static void *
copy_page(uintptr_t at)
{
	char *space = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *whole = (char *)round_up((uintptr_t)space, HUGE);

	if (space == MAP_FAILED)
		return NULL;
	munmap(space, (size_t)(whole - space));
	munmap(whole + HUGE, (size_t)(space + HUGE - whole));
	memcpy(whole, (const void *)at, HUGE);
	if (huge_collapse((uintptr_t)whole) &&
	    mprotect(whole, HUGE, PROT_READ | PROT_EXEC) == 0)
		return whole;
	munmap(whole, HUGE);
	return NULL;
}

/* Moves the copy over the original. If mremap(2) fails after unmapping the
   original, the process has no text to continue with and exits. */
static bool
replace_page(uintptr_t at)
{
	void *whole = copy_page(at);

	if (!whole)
		return false;
	if (mremap(whole, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)at) == MAP_FAILED)
		_exit(1);
	return true;
}

size_t
huge_text(const void *inside)
{
	struct span s = { .inside = (uintptr_t)inside };
	size_t count = 0;

	dl_iterate_phdr(find_segments, &s);
	for (uintptr_t at = round_up(s.begin, HUGE); at && at + HUGE <= s.end;
	     at += HUGE)
		count += replace_page(at);
	return count;
}
