/*
 * bench_tools: what a call from the code to a tool of its caller costs, there
 * and back, one after the other.
 */
#ifndef REMIT_BENCH_TOOLS_H
#define REMIT_BENCH_TOOLS_H

#include "bench.h"

int bench_tools_measure(struct bench *b, struct remit_error *err) must_check;

#endif
