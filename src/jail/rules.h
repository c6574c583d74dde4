/*
 * rules: the Landlock ruleset of a jail, at the newest ABI of the kernel.
 */
#ifndef REMIT_RULES_H
#define REMIT_RULES_H

#include "blueprint.h"

/* A ruleset descriptor, or -1 with errno. Runs under the jail's root;
   allocates nothing. *detail is the rule that failed. */
int rules_make(const struct blueprint *b, uint32_t *detail);
/* The kernel's ABI, 0 if it has none. */
int rules_abi(void);

#endif
