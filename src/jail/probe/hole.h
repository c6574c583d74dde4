/*
 * hole: mechanisms that a test build leaves out, to prove that each test can
 * fail. A release build has no way to do it: this function is empty.
 */
#ifndef REMIT_HOLE_H
#define REMIT_HOLE_H

#include "policy/host.h"

#ifdef REMIT_HOLES
/* REMIT_HOLES="landlock,seccomp": by the names of policy/mechanism.c. */
void hole_apply(struct host *h);
#else
static inline void
hole_apply(struct host *h)
{
	(void)h;
}
#endif

#endif
