/*
 * watch: what is refused to a worker with an explanation. Each such call
 * waits for the keeper, which refuses it and, once a program runs, counts it.
 * Those that come too often wait longer, so that they cost nobody else.
 */
#ifndef REMIT_WATCH_H
#define REMIT_WATCH_H

#include "keeper/pool/worker.h"

/* When its listener has come; nothing to do if it has none. */
int watch_start(struct worker *i, struct remit_error *err) must_check;
void watch_stop(struct worker *i);

#endif
