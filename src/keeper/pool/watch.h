/*
 * watch: what is refused to a worker with an explanation. Each such call
 * waits for the keeper, which refuses it and, once a program runs, counts it.
 * Those that come too often wait longer, so that they cost nobody else.
 */
#ifndef REMIT_WATCH_H
#define REMIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct worker;

/*
 * How often something may be done: a number of times at once, and then at a
 * steady rate. It has no clock of its own.
 */
#define BUCKET_TOKENS  100
#define BUCKET_EACH_US 10000

struct bucket {
	uint64_t full_us; /* when all tokens are there again; 0: they are */
};

/* Take a token; if there is none, false and the moment of the next. */
bool bucket_take(struct bucket *b, uint64_t now_us, uint64_t *next_us);

/* When its listener has come; nothing to do if it has none. */
int watch_start(struct worker *i, struct remit_error *err) must_check;
void watch_stop(struct worker *i);

#endif
