/*
 * refcount: how many hold a value that lives as long as anything holds it. Safe
 * between threads; whoever finds the value in a list must still keep the list
 * locked until it holds it.
 *
 *	refcount_inc(&r->refs);
 *	if (refcount_dec_and_test(&r->refs))
 *		room_free(r);
 */
#ifndef REMIT_REFCOUNT_H
#define REMIT_REFCOUNT_H

#include <stdbool.h>

struct refcount {
	unsigned count;
};

#define REFCOUNT_INIT(holders) { .count = (holders) }

static inline void
refcount_inc(struct refcount *r)
{
	__atomic_add_fetch(&r->count, 1, __ATOMIC_RELAXED);
}

/* True for the last: then nothing else holds the value. */
static inline bool
refcount_dec_and_test(struct refcount *r)
{
	return __atomic_sub_fetch(&r->count, 1, __ATOMIC_ACQ_REL) == 0;
}

/* Whether anything holds it now. */
static inline bool
refcount_is_held(const struct refcount *r)
{
	return __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) != 0;
}

#endif
