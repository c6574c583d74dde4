/*
 * bench_start: how long one run takes, from asking to the answer: each
 * program by each way, warm and cold and by peers. The rounds are interleaved,
 * so that the machine's noise falls on all alike.
 */
#ifndef REMIT_BENCH_START_H
#define REMIT_BENCH_START_H

#include "bench.h"

int bench_start_measure(struct bench *b, struct remit_error *err) must_check;

#endif
