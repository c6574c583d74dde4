/*
 * rules: the Landlock ruleset of a jail, at the kernel's newest ABI.
 */
#ifndef REMIT_RULES_H
#define REMIT_RULES_H

#include "jail/blueprint.h"

/*
 * Create a ruleset for everything that is mounted. Returns its descriptor, or
 * -1 with errno; *detail is the rule that failed. Called under the jail's root.
 * For a clone it is called in the keeper, which has the root template's mounts
 * open. Allocates nothing.
 */
int rules_begin(const struct blueprint *b, uint32_t *detail);
/* Add the rules for the writable directories. Called under the jail's root.
   Returns -1 with errno. */
int rules_finish(const struct blueprint *b, int ruleset, uint32_t *detail);
/* The kernel's Landlock ABI, or 0 if it has none. */
int rules_abi(void);

#endif
