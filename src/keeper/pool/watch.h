/*
 * watch: refuses system calls of a worker with an explanation. Each such call
 * waits for the keeper, which refuses it and, once a program runs, counts it.
 * Calls that come too often wait longer, so that they take no time from other
 * sessions.
 */
#ifndef REMIT_WATCH_H
#define REMIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct worker;

/*
 * A token bucket: allows a number of events at once, and then a steady rate. It
 * does not read the time.
 */
#define BUCKET_TOKENS  100
#define BUCKET_EACH_US 10000

struct bucket {
	/* when the bucket will be full again; 0: it is full */
	uint64_t full_us;
};

/* Takes a token. If there is none, returns false and sets *next_us to the time
   of the next one. */
bool bucket_take(struct bucket *b, uint64_t now_us, uint64_t *next_us);

/* Called when the listener has arrived. Does nothing if the worker has none. */
int watch_start(struct worker *i, struct remit_error *err) must_check;
void watch_stop(struct worker *i);

#endif
