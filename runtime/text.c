#include "text.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE ((uintptr_t)2 << 20)
#define PAGE ((uintptr_t)4096)

/* Neighbouring segments that nobody writes to. */
struct span {
	uintptr_t inside; /* what is looked for */
	uintptr_t begin, end;
};

static uintptr_t
up(uintptr_t at, uintptr_t unit)
{
	return (at + unit - 1) & ~(unit - 1);
}

/* dl_iterate_phdr(3): one object. Its segments stand in order. */
static int
look(struct dl_phdr_info *object, size_t size, void *user)
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
			      : up(object->dlpi_addr + p->p_vaddr + p->p_filesz,
				   PAGE);
		if (begin <= s->inside && s->inside < end)
			*s = (struct span){ s->inside, begin, end };
	}
	return s->end != 0;
}

static bool
replace(uintptr_t at)
{
	char *room = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *copy = (char *)up((uintptr_t)room, HUGE);
	bool done;

	if (room == MAP_FAILED)
		return false;
	memcpy(copy, (const void *)at, HUGE);
	done = madvise(copy, HUGE, MADV_COLLAPSE) == 0 &&
	       mprotect(copy, HUGE, PROT_READ | PROT_EXEC) == 0 &&
	       mremap(copy, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      (void *)at) != MAP_FAILED;
	/* What was moved away is a hole now, which this leaves as it is. */
	munmap(room, 2 * HUGE);
	return done;
}

size_t
text_collapse(const void *inside)
{
	struct span s = { .inside = (uintptr_t)inside };
	size_t count = 0;

	dl_iterate_phdr(look, &s);
	for (uintptr_t at = up(s.begin, HUGE); at && at + HUGE <= s.end;
	     at += HUGE)
		count += replace(at);
	return count;
}
