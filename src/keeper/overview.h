/*
 * overview: what a keeper is doing, as one JSON object, for `remit status`.
 */
#ifndef REMIT_OVERVIEW_H
#define REMIT_OVERVIEW_H

#include "keeper/keeper.h"

/* -1: no memory, or too long. */
int overview_write(struct buf *out, const struct keeper *k) must_check;

#endif
