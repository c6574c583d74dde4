/*
 * text: the interpreter's own program text, in huge pages.
 *
 * A mapped file's pages are found anew in every child of a fork, one fault for
 * sixteen of them. Memory of our own goes to the child with its tables, and two
 * megabytes of it are one entry.
 */
#ifndef REMIT_TEXT_H
#define REMIT_TEXT_H

#include <stddef.h>

/* Replace what is mapped read-only around this address by huge pages with the
   same bytes, as far as it goes: how many. What cannot be replaced stays. */
size_t text_collapse(const void *inside);

#endif
