/*
 * bench_load: how many runs a second, with one and many clients at once, and
 * what each costs the machine.
 */
#ifndef REMIT_BENCH_LOAD_H
#define REMIT_BENCH_LOAD_H

#include "bench.h"

int bench_load_measure(struct bench *b, struct remit_error *err) must_check;

#endif
