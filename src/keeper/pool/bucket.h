/*
 * bucket: how often something may be done: a number of times at once, and then
 * at a steady rate. It has no clock of its own.
 */
#ifndef REMIT_BUCKET_H
#define REMIT_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_TOKENS  100
#define BUCKET_EACH_US 10000

struct bucket {
	uint64_t full_us; /* when all tokens are there again; 0: they are */
};

/* Take a token; if there is none, false and the moment of the next. */
bool bucket_take(struct bucket *b, uint64_t now_us, uint64_t *next_us);

#endif
