#include "base/hash.h"

#include <string.h>

static void
add(struct hash *h, unsigned char byte)
{
	h->value = (h->value ^ byte) * UINT64_C(1099511628211);
}

void
hash_bytes(struct hash *h, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		add(h, at[i]);
}

void
hash_text(struct hash *h, const char *text)
{
	hash_bytes(h, text, strlen(text) + 1);
}

void
hash_number(struct hash *h, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		add(h, (unsigned char)(n >> (8 * i)));
}
