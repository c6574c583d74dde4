/*
 * lock: the last stage of the lock-down, run inside the interpreter by the
 * runtime module (cold) and by a forked child (warm). Allocates nothing.
 */
#ifndef REMIT_LOCK_H
#define REMIT_LOCK_H

#include "jail/lock/step.h"
#include "jail/lock_params.h"

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

#endif
