#include "base/cursor.h"

const unsigned char *
cursor_take(struct cursor *c, size_t n)
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
	const unsigned char *at = cursor_take(c, bytes);
	uint32_t n = 0;

	for (size_t i = 0; at && i < bytes; i++)
		n = n << 8 | at[i];
	return n;
}

struct cursor
cursor_part(struct cursor *c, size_t n)
{
	const unsigned char *at = cursor_take(c, n);

	return (struct cursor){ at, at ? n : 0, !at };
}
