/*
 * huge: huge pages, for what a zygote shares with all of its children.
 *
 * A mapped file's pages are found anew in every child of a fork, one fault for
 * sixteen of them. Memory of our own goes to the child with its tables, and two
 * megabytes of it are one entry.
 */
#ifndef REMIT_HUGE_H
#define REMIT_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE_BITS 21

/* Make one of what is mapped at this address, if that is memory of our own. */
bool huge_collapse(uintptr_t at);
/* Replace what is mapped read-only around this address, the text of a program
   and its constants, by huge pages with the same bytes, as far as it goes: how
   many. Only where there is one thread, and from another program's text. */
size_t huge_text(const void *inside);

#endif
