/*
 * stamp: a moment by the clock that the kernel writes into inodes. What has
 * been changed since has a time of change (ctime) that is not before it.
 */
#ifndef REMIT_STAMP_H
#define REMIT_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct stamp {
	struct timespec at;
	int64_t set_ns; /* how the clock is set: against one that cannot be */
};

struct stamp stamp_now(void);
/* Whether changes from now on get a later time than any before the stamp. It
   takes one tick of the clock, some milliseconds. */
bool stamp_is_over(const struct stamp *s);
/* How long such a tick is. */
uint64_t stamp_tick_us(void);
/* Somebody has set the clock back since: times tell nothing any more. */
bool stamp_is_void(const struct stamp *s);
/* Not before the stamp. */
bool stamp_is_since(const struct stamp *s, const struct timespec *t);

#endif
