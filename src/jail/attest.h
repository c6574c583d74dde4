/*
 * attest: check from outside, by what the kernel reports in /proc, that a
 * process is locked down, that code can be copied safely, and that the copy is
 * where it belongs.
 */
#ifndef REMIT_ATTEST_H
#define REMIT_ATTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jail/jail.h"

struct attest_want {
	uint32_t uid;
	pid_t parent;	  /* 0: not checked */
	unsigned filters; /* number of seccomp filters; 0: not checked */
	bool bounded;	  /* the bounding set must be empty too */
};

/* The number of seccomp filters that this process itself has. */
unsigned attest_own_filters(void);

/* Check in /proc/PID/status that the process has the user and parent in *want,
   one thread, no capabilities, no_new_privs and the given number of filters. */
int attest(pid_t pid, const struct attest_want *want,
	   struct remit_error *err) must_check;

/* ---- branches ---- */

/*
 * Returns -1 with a refusal if a copy of the code would share something that
 * either side could change: a thread, an open file, shared memory or a mapped
 * file of the workspace. Also refuses if descriptors 0 to 3 are not those the
 * jail was given. Call it only while the code is stopped waiting for the
 * keeper, so that the result stays true.
 */
int branch_check_alone(const struct jail *j, const struct plan *plan,
		       struct remit_error *err) must_check;

/*
 * Check that the copy is where it belongs: in the branch's namespaces and
 * cgroups, with pid 2 there, as an orphan adopted by the parent jail's pid 1,
 * without capabilities, and with all filters of the code it was copied from.
 * `warm` means that this code was forked by a zygote. *outer is the copy's pid
 * in the parent's pid namespace.
 */
int branch_attest(const struct jail *j, const struct plan *plan,
		  const struct jail *parent, bool warm, pid_t *outer,
		  struct remit_error *err) must_check;

#endif
