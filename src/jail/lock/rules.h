/*
 * rules: the Landlock ruleset of a jail, at the newest ABI of the kernel.
 */
#ifndef REMIT_RULES_H
#define REMIT_RULES_H

#include "jail/blueprint.h"

/*
 * A ruleset descriptor for all that is mounted, or -1 with errno; *detail is
 * the rule that failed. Runs under the jail's root, or, for one that is cloned,
 * in the keeper, which holds the root template open. Allocates nothing.
 */
int rules_begin(const struct blueprint *b, uint32_t *detail);
/* The rules for what can be written. Under the jail's root, likewise. */
int rules_finish(const struct blueprint *b, int ruleset, uint32_t *detail);
/* The kernel's ABI, 0 if it has none. */
int rules_abi(void);

#endif
