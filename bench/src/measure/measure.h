/*
 * measure: the sections of the report, with one file each.
 */
#ifndef REMIT_BENCH_MEASURE_H
#define REMIT_BENCH_MEASURE_H

#include "bench.h"

int bench_start_measure(struct bench *b, struct remit_error *err) must_check;
int bench_cells_measure(struct bench *b, struct remit_error *err) must_check;
int bench_load_measure(struct bench *b, struct remit_error *err) must_check;
int bench_memory_measure(struct bench *b, struct remit_error *err) must_check;
int bench_size_pools(struct bench *b, struct remit_error *err) must_check;
int bench_size_zygotes(struct bench *b, struct remit_error *err) must_check;
int bench_size_forks(struct bench *b, struct remit_error *err) must_check;
int bench_extra_measure(struct bench *b, struct remit_error *err) must_check;
int bench_network_measure(struct bench *b, struct remit_error *err) must_check;
int bench_beside_measure(struct bench *b, struct remit_error *err) must_check;
int bench_tools_measure(struct bench *b, struct remit_error *err) must_check;
int bench_branches_measure(struct bench *b, struct remit_error *err) must_check;
int bench_frontends_measure(struct bench *b,
			    struct remit_error *err) must_check;

#endif
