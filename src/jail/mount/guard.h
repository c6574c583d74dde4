/*
 * guard: paths of the host that no run may change, whatever directories it may
 * write: the interpreter, which is executed outside of jails as well, and
 * Remit itself.
 */
#ifndef REMIT_GUARD_H
#define REMIT_GUARD_H

#include <stdbool.h>

#include "policy/interpreter.h"

/* -1 without memory. */
int guard_list(struct list *out, const struct interpreter *in,
	       const char *runtime_dir) must_check;
/* Whether any of them is in this directory, or it in one of them. */
bool guard_meets(const struct list *guarded, const char *directory);

#endif
