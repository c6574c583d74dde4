/*
 * quantity: sizes, times and counts as people write them.
 *
 *	sizes	4096  100k  512M  512MiB  1.5G	K, M, G, T are binary; any case
 *	times	30  1.5s  200ms  2m  1h		a bare number is seconds
 *	counts	64
 *
 * Decimal arithmetic only: a text either has exactly one value, or it is an
 * error. Zero, negative, empty and blank-padded texts are errors, as are
 * "1e3", sizes that are no whole number of bytes and times finer than 1 ms.
 * The messages quote the text and do not name the field: the caller does.
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

/* Room for anything the two functions below write. */
#define QUANTITY_SIZE 32

/* Exact, in the largest unit that divides it: "512 MiB", "1000 bytes". */
void quantity_show_bytes(uint64_t bytes, char *out, size_t size);
/* Exact: "200 ms", "1.5 s", "2 min", "24 h". */
void quantity_show_time(uint64_t ms, char *out, size_t size);

#endif
