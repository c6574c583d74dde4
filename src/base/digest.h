/*
 * digest: fingerprints of bytes. SHA-256 (FIPS 180-4) cannot be forged; it is
 * for audits and for content-addressed files. FNV-1a is a fast fingerprint of
 * 64 bits, for names of cache files.
 */
#ifndef REMIT_DIGEST_H
#define REMIT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The size of 64 hexadecimal digits and a NUL. */
#define SHA256_TEXT 65

#define SHA256_BLOCK 64
#define SHA256_WORDS 8

struct sha256 {
	uint32_t state[SHA256_WORDS];
	unsigned char rest[SHA256_BLOCK]; /* bytes of an incomplete block */
	uint64_t len;
};

#define SHA256_INIT                                                  \
	{ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, \
		     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } }

/* For data in pieces. Nothing may be added after sha256_end(). */
void sha256_add(struct sha256 *h, const void *bytes, size_t len);
void sha256_end(struct sha256 *h, char out[SHA256_TEXT]);

/* For data in one piece. */
void sha256_text(const void *bytes, size_t len, char out[SHA256_TEXT]);

/* FNV-1a. Not for input that an adversary can choose. */

struct hash {
	uint64_t value;
};

#define HASH_INIT { .value = UINT64_C(14695981039346656037) }

void hash_text(struct hash *h, const char *text); /* including its NUL */
void hash_bytes(struct hash *h, const void *bytes, size_t len);
void hash_number(struct hash *h, uint64_t n);

#endif
