/*
 * sha256: a fingerprint that nobody can forge (FIPS 180-4), for audits
 * and for what is kept by its content.
 */
#ifndef REMIT_SHA256_H
#define REMIT_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* 64 hexadecimal digits and a NUL. */
#define SHA256_TEXT 65

#define SHA256_BLOCK 64
#define SHA256_WORDS 8

struct sha256 {
	uint32_t state[SHA256_WORDS];
	unsigned char rest[SHA256_BLOCK]; /* less than a block */
	uint64_t len;
};

#define SHA256_INIT                                                  \
	{ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, \
		     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } }

/* Piece by piece; nothing is added behind the end. */
void sha256_add(struct sha256 *h, const void *bytes, size_t len);
void sha256_end(struct sha256 *h, char out[SHA256_TEXT]);

/* All at once. */
void sha256_text(const void *bytes, size_t len, char out[SHA256_TEXT]);

#endif
