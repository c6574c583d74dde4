/*
 * bench_extra: what a warm run costs with something, against the same without
 * it: files that leave, a call that is refused. Both take turns, so that the
 * machine's noise falls on both alike.
 */
#ifndef REMIT_BENCH_EXTRA_H
#define REMIT_BENCH_EXTRA_H

#include "bench.h"

int bench_extra_measure(struct bench *b, struct remit_error *err) must_check;

#endif
