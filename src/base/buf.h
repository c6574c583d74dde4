/*
 * buf: bytes that grow up to a cap. A buf cannot be created without a cap, so
 * that no untrusted input can grow without bound. A cursor reads bytes and
 * never goes beyond their end.
 *
 *	own(buf) struct buf b = BUF_INIT(64 * 1024);
 *	if (buf_add(&b, bytes, n) < 0)		errno is EFBIG or ENOMEM
 */
#ifndef REMIT_BUF_H
#define REMIT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

struct buf {
	char *data; /* has a NUL after len bytes once anything was added */
	size_t len;
	size_t allocated;
	size_t cap; /* len never exceeds this */
};

#define BUF_INIT(max) { .cap = (max) }

/* Returns -1 with errno EFBIG (over the cap; nothing was added) or ENOMEM. */
int buf_add(struct buf *b, const void *bytes, size_t n) must_check;
/* Allocates space for n more bytes, so that adding them copies nothing. */
int buf_reserve(struct buf *b, size_t n) must_check;
int buf_addf(struct buf *b, const char *fmt, ...) must_check printf_like(2, 3);
/* Frees the space that is not used. */
void buf_fit(struct buf *b);
/* Removes the first n bytes. */
void buf_drop(struct buf *b, size_t n);
void buf_free(struct buf *b);
/* Returns the text so far; "" if nothing was added. */
const char *buf_text(const struct buf *b);

/*
 * Reads untrusted bytes in order. The first read beyond the end sets `bad`, and
 * it and all later reads return 0 or NULL, so that a parser needs to check
 * `bad` only once, at the end.
 */

struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

/* Reads a big-endian number of up to 4 bytes. */
uint32_t cursor_number(struct cursor *c, size_t bytes);
/* Returns the next n bytes, or NULL if fewer are left. */
const unsigned char *cursor_bytes(struct cursor *c, size_t n);
/* Returns a cursor over the next n bytes. */
struct cursor cursor_part(struct cursor *c, size_t n);

#endif
