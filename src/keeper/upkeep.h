/*
 * upkeep: what a keeper does between requests: reap, kill, bury, build ahead,
 * let go what nobody needs. The functions of keeper.h for workers and pools are
 * here too.
 */
#ifndef REMIT_UPKEEP_H
#define REMIT_UPKEEP_H

#include "keeper/keeper.h"

int upkeep_open(struct keeper *k, struct remit_error *err) must_check;
/* End all jails and zygotes, and wait for it. */
void upkeep_close(struct keeper *k);

#endif
