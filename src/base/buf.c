#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
buf_reserve(struct buf *b, size_t n)
{
	size_t want, size;
	char *data;

	if (n > b->cap - b->len) {
		errno = EFBIG;
		return -1;
	}
	want = b->len + n + 1;
	if (want <= b->allocated)
		return 0;
	size = b->allocated ? b->allocated : 256;
	while (size < want)
		size *= 2;
	if (size > b->cap + 1)
		size = b->cap + 1;
	data = realloc(b->data, size);
	if (!data)
		return -1;
	b->data = data;
	b->allocated = size;
	return 0;
}

int
buf_add(struct buf *b, const void *bytes, size_t n)
{
	if (buf_reserve(b, n) < 0)
		return -1;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
	return 0;
}

int
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || buf_reserve(b, (size_t)n) < 0)
		return -1;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void
buf_fit(struct buf *b)
{
	char *fitted = b->data ? realloc(b->data, b->len + 1) : NULL;

	if (!fitted)
		return;
	b->data = fitted;
	b->allocated = b->len + 1;
}

void
buf_drop(struct buf *b, size_t n)
{
	if (!b->data)
		return;
	if (n > b->len)
		n = b->len;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

void
buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT(b->cap);
}

const char *
buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

/* ---- reading in order ---- */

const unsigned char *
cursor_bytes(struct cursor *c, size_t n)
{
	const unsigned char *at = c->at;

	if (c->bad || n > c->left) {
		c->bad = true;
		c->left = 0;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return at;
}

uint32_t
cursor_number(struct cursor *c, size_t bytes)
{
	const unsigned char *at = cursor_bytes(c, bytes);
	uint32_t n = 0;

	for (size_t i = 0; at && i < bytes; i++)
		n = n << 8 | at[i];
	return n;
}

struct cursor
cursor_part(struct cursor *c, size_t n)
{
	const unsigned char *at = cursor_bytes(c, n);

	return (struct cursor){ at, at ? n : 0, !at };
}
