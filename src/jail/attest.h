/*
 * attest: look from outside at a process that says it is locked down, at code
 * that is to be copied, and at the copy, by the kernel's word.
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
	pid_t parent;	  /* 0: any */
	unsigned filters; /* how many are loaded; 0: do not look */
	bool bounded;	  /* the bounding set is empty too */
};

/* How many filters this process itself has. */
unsigned attest_own_filters(void);

/* Check /proc/PID/status: user, parent, no rights, no new privileges, and a
   loaded filter. */
int attest(pid_t pid, const struct attest_want *want,
	   struct remit_error *err) must_check;

/* ---- branches ---- */

/*
 * Refused, with a reason, if a copy would share something with it that either
 * could change: another thread, an open file, shared memory, a mapped file of
 * the workspace; or if its first descriptors are not those that the jail was
 * given. It must be waiting for us, so that nothing of this changes.
 */
int branch_check_alone(const struct jail *j,
		       struct remit_error *err) must_check;

/*
 * The copy is where it belongs: in the branch's namespaces and groups, pid 2
 * there, an orphan of the parent's pid 1, without rights, with all filters of
 * the code it was copied from. `warm`: that code came from a zygote. *outer is
 * its number in the parent's pid namespace.
 */
int branch_attest(const struct jail *j, const struct plan *plan,
		  const struct jail *parent, bool warm, pid_t *outer,
		  struct remit_error *err) must_check;

#endif
