/*
 * own: values that are released at the end of their scope.
 *
 *	own_fd int fd = openat(...);		closed at end of scope
 *	own(buf) struct buf b = BUF_INIT(cap);	buf_free() at end of scope
 *	*out = take_fd(&fd);			handed over, visibly
 */
#ifndef REMIT_OWN_H
#define REMIT_OWN_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define must_check	       __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

/* Needs a function `type_free(struct type *)`. */
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

#endif
