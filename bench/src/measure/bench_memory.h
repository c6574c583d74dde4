/*
 * bench_memory: what a waiting child and a running sandbox cost in memory.
 * PSS, so that pages which several processes share are counted once.
 */
#ifndef REMIT_BENCH_MEMORY_H
#define REMIT_BENCH_MEMORY_H

#include "bench.h"

int bench_memory_measure(struct bench *b, struct remit_error *err) must_check;

#endif
