/*
 * ctime_mark: a moment by the clock that the kernel writes into inodes. What
 * has been changed since has a time of change (ctime) that is not before it.
 */
#ifndef REMIT_CTIME_MARK_H
#define REMIT_CTIME_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct ctime_mark {
	struct timespec at;
	int64_t set_ns; /* how the clock is set: against one that cannot be */
};

/* Not after anything that is changed from now on. */
struct ctime_mark ctime_mark_now(void);

/* Not before anything that was changed until now: the kernel writes the coarse
   clock into inodes, which is behind, or a finer one, which is not. */
struct timespec ctime_mark_latest(void);
/* Whether changes from now on get a later time than this. It takes a tick of
   the coarse clock, some milliseconds. */
bool ctime_mark_is_over(const struct timespec *latest);
/* How long such a tick is. */
uint64_t ctime_mark_tick_us(void);

/* Somebody has set the clock back since: times tell nothing any more. */
bool ctime_mark_is_void(const struct ctime_mark *s);
/* Not before the mark. */
bool ctime_mark_is_since(const struct ctime_mark *s, const struct timespec *t);

#endif
