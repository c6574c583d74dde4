/*
 * lock: the part of the lock-down that happens in the process of the code: the
 * stage in which it enters the jail (enter.c), the last stage (lock.c), and the
 * test of both (self_test.c). Allocates nothing.
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

/* What becomes descriptors 0 to 4, and the directory to begin in (-1: the
   jail's own); all above 15. ruleset may be -1. */
struct enter_ends {
	int in, out, err, channel, ruleset, workdir;
};

/* 0, or -1 with errno and the step that failed. ends->channel is where the
   channel then is, also on failure. */
int enter_run(const struct lock_params *params, struct enter_ends *ends,
	      uint32_t *step, uint32_t *detail);

/* Until the next change of user or rights. -1 with errno: also if the parent is
   dead already. */
int enter_die_with(pid_t parent);

/* Set a resource limit, or a lower one that holds already. -1 with errno. */
int enter_limit(int which, uint64_t want);

/*
 * ---- lock: inside the interpreter, by the runtime module (cold) and by a
 * forked child (warm) ----
 */

/* Read the order from the channel, first of all (cold only). */
int lock_params_read(struct lock_params *params, struct step_report *report);

/*
 * Close descriptors, bind Landlock, load the filter, prove it, and report to
 * the keeper. 0, or -1 with *report naming the step that failed (it was sent to
 * the keeper as well).
 */
int lock_down(const struct lock_params *params, struct step_report *report);

/*
 * For the process that imports modules for a zygote: it can then signal only
 * itself and its descendants, and reach no abstract socket of the host. Kernels
 * before 6.12 cannot do this: *out is -1 there, with which lock_scope() does
 * nothing. The zygote itself is not scoped: its children would inherit that,
 * and every Landlock domain denies renames between directories.
 */
int lock_scope_make(int *out) must_check;
int lock_scope(int scope) must_check;

/* ---- self_test: before any foreign byte is read ---- */

/* -1 with errno EACCES and in *which the number of the test that the jail did
   not stop (its row in self_test.c, from 1). */
int self_test(const struct lock_params *params, uint32_t *which);

#endif
