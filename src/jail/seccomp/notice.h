/*
 * notice: a system call that the filter of code refuses with an explanation,
 * from the kernel's notification to the answer (seccomp_unotify(2)). The answer
 * is the refusal in the filter's tables, except for a fork that the keeper has
 * requested (src/keeper/pool/branch.c).
 */
#ifndef REMIT_NOTICE_H
#define REMIT_NOTICE_H

#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/own.h"

struct notice {
	int listener;
	uint64_t id;
	pid_t thread; /* in the pid namespace of this process */
	struct seccomp_data call;
};

/* Call this once, when the listener has been received. */
void notice_prepare(int listener);

/*
 * Receive the next notice. Call this only if the listener is readable, since it
 * blocks otherwise. Returns -1 with errno: ENOENT if the thread was killed or
 * interrupted meanwhile.
 */
int notice_recv(int listener, struct notice *out) must_check;
/* Refuse every notice (listener may be -1) until `fd` is readable. Returns -1
   if that takes longer than timeout_ms. */
int notice_refuse_until(int fd, int listener, unsigned filter,
			int timeout_ms) must_check;

/*
 * Copy up to `size` bytes of the caller's memory, as many as can be read.
 * Returns how many, or 0 if none can be read or if the caller no longer waits,
 * in which case the memory may belong to another process.
 */
size_t notice_read(const struct notice *n, uint64_t at, void *to, size_t size);

/* Answer the call with the refusal of this filter variant. */
void notice_refuse(const struct notice *n, unsigned filter);

/* Let this one call continue. Only for calls without pointer arguments, while
   the keeper controls the code. Returns -1 if the caller no longer waits. */
int notice_continue(const struct notice *n) must_check;
/* Put a copy of descriptor `fd` into the caller under the number `as`. Returns
   -1 with errno. */
int notice_inject(const struct notice *n, int fd, int as) must_check;

/* The name of a system call on this machine, or NULL. */
const char *notice_call_name(int number);

#endif
