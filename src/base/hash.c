#include "base/hash.h"

static void
add(struct hash *h, unsigned char byte)
{
	h->value = (h->value ^ byte) * UINT64_C(1099511628211);
}

void
hash_text(struct hash *h, const char *text)
{
	do
		add(h, (unsigned char)*text);
	while (*text++);
}

void
hash_number(struct hash *h, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		add(h, (unsigned char)(n >> (8 * i)));
}
