/*
 * notice: a system call that the filter of code has refused with an
 * explanation, from the moment that the kernel tells of it to the answer
 * (seccomp_unotify(2)). The answer is the refusal that the filter's tables say,
 * but for a fork that the keeper has asked for (src/keeper/pool/branch.c).
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
	pid_t thread; /* as we see it */
	struct seccomp_data call;
};

/* Once, when the listener has come. */
void notice_prepare(int listener);

/*
 * Take the next one; only if the listener is readable, or it waits for ever. -1
 * with errno, ENOENT if its thread was killed or interrupted meanwhile.
 */
int notice_recv(int listener, struct notice *out) must_check;
/* Refuse all that comes (listener may be -1), until `fd` is readable. -1: it
   was not within this time. */
int notice_refuse_until(int fd, int listener, unsigned filter,
			int timeout_ms) must_check;

/*
 * Copy memory of the one who calls, once: as much as can be read of `size`
 * bytes. 0 if nothing can, or if he is not waiting any more, so that it may be
 * another's.
 */
size_t notice_read(const struct notice *n, uint64_t at, void *to, size_t size);

/* Let the caller go on with the refusal of this filter (its variant). */
void notice_refuse(const struct notice *n, unsigned filter);

/* The code is the keeper's to command just now: let this one call pass, which
   has no argument that is a pointer. -1: nobody waits for it any more. */
int notice_continue(const struct notice *n) must_check;
/* Give the caller a copy of a descriptor of ours, with this number. */
int notice_inject(const struct notice *n, int fd, int as) must_check;

/* The name of a system call of this machine, or NULL. */
const char *notice_call_name(int number);

#endif
