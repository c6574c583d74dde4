/*
 * branch_check: what must be true of code that is to be copied, and of the
 * copy, by the kernel's word.
 */
#ifndef REMIT_BRANCH_CHECK_H
#define REMIT_BRANCH_CHECK_H

#include "jail/jail.h"

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
