/*
 * bench_cells: a thousand cells in one session, against the same in a process
 * that nothing guards and in a Jupyter kernel.
 */
#ifndef REMIT_BENCH_CELLS_H
#define REMIT_BENCH_CELLS_H

#include "bench.h"

int bench_cells_measure(struct bench *b, struct remit_error *err) must_check;

#endif
