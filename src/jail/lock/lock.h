/*
 * lock: the part of the lock-down that runs in the process of the code:
 * entering the jail (enter.c), the last stage (lock.c), and the test of both
 * (self_test.c). Allocates nothing.
 */
#ifndef REMIT_LOCK_H
#define REMIT_LOCK_H

#include <sys/types.h>

#include "jail/lock/step.h"
#include "jail/lock_params.h"

/*
 * ---- enter: before the process becomes the interpreter (cold), or right after
 * it was forked from one (warm) ----
 */

/* The descriptors that become 0 to 4, and the initial directory (-1:
   params->workspace). All are above 15. ruleset may be -1. */
struct enter_ends {
	int in, out, err, channel, ruleset, workdir;
};

/* Returns 0, or -1 with errno and the failed step. ends->channel is the
   channel's new descriptor, on failure too. */
int enter_run(const struct lock_params *params, struct enter_ends *ends,
	      uint32_t *step, uint32_t *detail);

/* Die when the parent dies, until the next change of user or capabilities.
   Returns -1 with errno, also if the parent is dead already. */
int enter_die_with(pid_t parent);

/* Set a resource limit, or keep a lower one that is in force already. Returns
   -1 with errno. */
int enter_limit(int which, uint64_t want);

/*
 * ---- lock: in the interpreter, called by the runtime module (cold) or by a
 * forked child (warm) ----
 */

/* Cold only: read the parameters, before anything else, from the channel. */
int lock_params_read(struct lock_params *params, struct step_report *report);

/*
 * Close descriptors, apply Landlock, load the filter, prove that both work, and
 * report to the keeper. Returns 0, or -1 with *report naming the failed step
 * (which the keeper has been sent as well).
 */
int lock_down(const struct lock_params *params, struct step_report *report);

/*
 * For the process that imports modules for a zygote: restrict it so that it can
 * signal only itself and its descendants and connect to no abstract socket of
 * the host. Kernels before 6.12 cannot do this: there *out is -1, and
 * lock_scope(-1) does nothing. The zygote itself is not restricted: its
 * children would inherit that, and every Landlock domain denies renames between
 * directories.
 */
int lock_scope_make(int *out) must_check;
int lock_scope(int scope) must_check;

/* ---- self_test: before any foreign byte is read ---- */

/* Returns -1 with errno EACCES if the jail did not stop an attempt. *which is
   then its row in self_test.c, counted from 1. */
int self_test(const struct lock_params *params, uint32_t *which);

#endif
