/*
 * plan_mounts: what of the host a jail shows, and where: the interpreter's
 * parts, read roots and mounts, all in one list.
 */
#ifndef REMIT_PLAN_MOUNTS_H
#define REMIT_PLAN_MOUNTS_H

#include "policy/plan/plan.h"

/* Fill p->mounts from the plan's policy and interpreter, or refuse what lies
   inside each other. */
int plan_list_mounts(struct plan *p, struct remit_error *err) must_check;

#endif
