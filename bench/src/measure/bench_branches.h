/*
 * bench_branches: a branch of a session that holds 100 MiB, until it has
 * answered, against a bare fork of a process that holds as much.
 */
#ifndef REMIT_BENCH_BRANCHES_H
#define REMIT_BENCH_BRANCHES_H

#include "bench.h"

int bench_branches_measure(struct bench *b, struct remit_error *err) must_check;

#endif
