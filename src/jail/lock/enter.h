/*
 * enter: the stage of the lock-down that the process carries out which will run
 * the code: before it becomes the interpreter (cold), or right after it was
 * forked from one (warm). Allocates nothing.
 */
#ifndef REMIT_ENTER_H
#define REMIT_ENTER_H

#include <sys/types.h>

#include "jail/lock/step.h"
#include "jail/lock_params.h"

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

#endif
