#include "base/digest.h"

#include <stdio.h>
#include <string.h>

/* ---- SHA-256 ---- */

#define BLOCK SHA256_BLOCK
#define WORDS SHA256_WORDS

static const uint32_t constants[BLOCK] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotate_right(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* Section 6.2.2, step 1. */
static void
sha256_schedule(uint32_t w[BLOCK], const unsigned char *block)
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 |
		       (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < BLOCK; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] +
		       (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) +
		       w[i - 7] +
		       (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
	}
}

/* Section 6.2.2, steps 2 to 4. s[0] to s[7] are a to h of the standard. */
static void
sha256_compress(uint32_t state[WORDS], const unsigned char *block)
{
	uint32_t w[BLOCK], s[WORDS];

	sha256_schedule(w, block);
	memcpy(s, state, sizeof(s));
	for (int i = 0; i < BLOCK; i++) {
		uint32_t one = s[7] +
			       (rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^
				rotate_right(s[4], 25)) +
			       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] +
			       w[i];
		uint32_t two = (rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^
				rotate_right(s[0], 22)) +
			       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += one;
		s[0] = one + two;
	}
	for (int i = 0; i < WORDS; i++)
		state[i] += s[i];
}

void
sha256_add(struct sha256 *h, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	size_t have = h->len % BLOCK;

	h->len += len;
	if (have) {
		size_t more = BLOCK - have < len ? BLOCK - have : len;

		memcpy(h->rest + have, at, more);
		at += more;
		len -= more;
		if (have + more < BLOCK)
			return;
		sha256_compress(h->state, h->rest);
	}
	for (; len >= BLOCK; at += BLOCK, len -= BLOCK)
		sha256_compress(h->state, at);
	if (len)
		memcpy(h->rest, at, len);
}

void
sha256_end(struct sha256 *h, char out[SHA256_TEXT])
{
	unsigned char end[2 * BLOCK] = { 0x80 };
	uint64_t bits = h->len * 8;
	size_t have = h->len % BLOCK;
	size_t padding = (have < BLOCK - 8 ? BLOCK : 2 * BLOCK) - have;

	for (size_t i = 0; i < 8; i++)
		end[padding - 1 - i] = (unsigned char)(bits >> 8 * i);
	sha256_add(h, end, padding);
	for (size_t i = 0; i < WORDS; i++)
		snprintf(out + 8 * i, SHA256_TEXT - 8 * i, "%08x", h->state[i]);
}

void
sha256_text(const void *bytes, size_t len, char out[SHA256_TEXT])
{
	struct sha256 h = SHA256_INIT;

	if (len)
		sha256_add(&h, bytes, len);
	sha256_end(&h, out);
}

/* ---- FNV-1a ---- */

static void
hash_byte(struct hash *h, unsigned char byte)
{
	h->value = (h->value ^ byte) * UINT64_C(1099511628211);
}

void
hash_bytes(struct hash *h, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash_byte(h, at[i]);
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
		hash_byte(h, (unsigned char)(n >> (8 * i)));
}
