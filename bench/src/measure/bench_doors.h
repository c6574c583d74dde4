/*
 * bench_doors: the same run, or cell, by the library and by each door that is
 * HTTP, over loopback.
 */
#ifndef REMIT_BENCH_DOORS_H
#define REMIT_BENCH_DOORS_H

#include "bench.h"

int bench_doors_measure(struct bench *b, struct remit_error *err) must_check;

#endif
