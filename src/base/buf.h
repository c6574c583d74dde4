/*
 * buf: bytes that grow up to a cap. A buf cannot be made without its cap, so
 * that no foreign input can grow without bound. And a cursor, which reads bytes
 * and never goes beyond their end.
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
	char *data; /* NUL-terminated behind len once anything was added */
	size_t len;
	size_t allocated;
	size_t cap; /* len never exceeds this */
};

#define BUF_INIT(max) { .cap = (max) }

/* -1 with errno EFBIG (over the cap; nothing was added) or ENOMEM. */
int buf_add(struct buf *b, const void *bytes, size_t n) must_check;
/* Room for n more bytes, so that adding them copies nothing. */
int buf_reserve(struct buf *b, size_t n) must_check;
int buf_addf(struct buf *b, const char *fmt, ...) must_check printf_like(2, 3);
/* Give back the room that is not used. */
void buf_fit(struct buf *b);
/* Drop the first n bytes. */
void buf_drop(struct buf *b, size_t n);
void buf_free(struct buf *b);
/* The text so far; "" if nothing was added. */
const char *buf_text(const struct buf *b);

/*
 * Reading foreign bytes in order, never beyond their end. After the first step
 * too far everything reads as 0 and `bad` is set, so that a parser may look
 * once, at the end.
 */

struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

/* A number of so many bytes (up to 4), the highest first. */
uint32_t cursor_number(struct cursor *c, size_t bytes);
/* The next n bytes; NULL if there are fewer. */
const unsigned char *cursor_bytes(struct cursor *c, size_t n);
/* The next n bytes as a cursor of their own. */
struct cursor cursor_part(struct cursor *c, size_t n);

#endif
