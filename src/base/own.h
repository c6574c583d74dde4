/*
 * own: values that are released at the end of their scope, and values that are
 * freed with their last reference.
 *
 *	own_fd int fd = openat(...);		closed at end of scope
 *	own(buf) struct buf b = BUF_INIT(cap);	buf_free() at end of scope
 *	*out = take_fd(&fd);			transfers ownership, visibly
 */
#ifndef REMIT_OWN_H
#define REMIT_OWN_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define must_check	       __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

/* Requires a function `type_free(struct type *)`. */
#define own(type) __attribute__((cleanup(type##_free)))
#define own_fd	  __attribute__((cleanup(own_fd_close)))
#define own_mem	  __attribute__((cleanup(own_mem_free)))

static inline void
own_fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void
own_mem_free(void *p)
{
	free(*(void **)p);
}

static inline int
take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_ptr(p)                        \
	({                                 \
		__auto_type taken_ = *(p); \
		*(p) = NULL;               \
		taken_;                    \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Counts references to a value; safe between threads. Code that finds the value
 * in a list must keep the list locked until it has taken its reference.
 *
 *	refcount_inc(&r->refs);
 *	if (refcount_dec_and_test(&r->refs))
 *		hosted_free(r);
 */

struct refcount {
	unsigned count;
};

#define REFCOUNT_INIT(holders) { .count = (holders) }

static inline void
refcount_inc(struct refcount *r)
{
	__atomic_add_fetch(&r->count, 1, __ATOMIC_RELAXED);
}

/* Returns true for the last reference: the caller frees the value. */
static inline bool
refcount_dec_and_test(struct refcount *r)
{
	return __atomic_sub_fetch(&r->count, 1, __ATOMIC_ACQ_REL) == 0;
}

/* Whether any reference exists now. */
static inline bool
refcount_is_held(const struct refcount *r)
{
	return __atomic_load_n(&r->count, __ATOMIC_ACQUIRE) != 0;
}

#endif
