/*
 * quantity: sizes, times and counts as text.
 *
 *	sizes	4096  100k  512M  512MiB  1.5G	K, M, G, T are binary, in any
 *case times	30  1.5s  200ms  2m  1h		a bare number is seconds counts
 *64
 *
 * Parsing is exact: a text either has exactly one value, or it is an error.
 * Zero, negative, empty and blank-padded texts are errors, and so are "1e3",
 * sizes that are not a whole number of bytes and times finer than 1 ms.
 * Messages quote the text; the caller adds the name of the field.
 */
#ifndef REMIT_QUANTITY_H
#define REMIT_QUANTITY_H

#include <stdint.h>

#include "base/error.h"

int quantity_bytes(const char *text, uint64_t *bytes,
		   struct remit_error *err) must_check;
int quantity_time(const char *text, uint64_t *ms,
		  struct remit_error *err) must_check;
int quantity_count(const char *text, uint64_t *count,
		   struct remit_error *err) must_check;

/* Large enough for the two functions below. */
#define QUANTITY_SIZE 32

/* Writes the exact value in the largest unit that divides it: "512 MiB", "1000
   bytes". */
void quantity_show_bytes(uint64_t bytes, char *out, size_t size);
/* Writes the exact value: "200 ms", "1.5 s", "2 min", "24 h". */
void quantity_show_time(uint64_t ms, char *out, size_t size);

#endif
