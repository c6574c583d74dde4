/*
 * bench_size: what a warm run costs against the size of the pool it comes
 * from, and against the size of the zygote that fills the pool; and what a
 * fork of the zygote costs against its size.
 */
#ifndef REMIT_BENCH_SIZE_H
#define REMIT_BENCH_SIZE_H

#include "bench.h"

int bench_size_pools(struct bench *b, struct remit_error *err) must_check;
int bench_size_zygotes(struct bench *b, struct remit_error *err) must_check;
int bench_size_forks(struct bench *b, struct remit_error *err) must_check;

#endif
