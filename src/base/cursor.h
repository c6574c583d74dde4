/*
 * cursor: reading foreign bytes in order, never beyond their end. After the
 * first step too far everything reads as 0 and `bad` is set, so that a parser
 * may look once, at the end.
 */
#ifndef REMIT_CURSOR_H
#define REMIT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

/* A number of so many bytes (up to 4), the highest first. */
uint32_t cursor_number(struct cursor *c, size_t bytes);
/* The next n bytes; NULL if there are fewer. */
const unsigned char *cursor_take(struct cursor *c, size_t n);
/* The next n bytes as a cursor of their own. */
struct cursor cursor_part(struct cursor *c, size_t n);

#endif
