/*
 * hash: a 64-bit fingerprint for names of cache files (FNV-1a). Not for
 * anything an adversary can choose.
 */
#ifndef REMIT_HASH_H
#define REMIT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash {
	uint64_t value;
};

#define HASH_INIT { .value = UINT64_C(14695981039346656037) }

void hash_text(struct hash *h, const char *text); /* with its NUL */
void hash_bytes(struct hash *h, const void *bytes, size_t len);
void hash_number(struct hash *h, uint64_t n);

#endif
