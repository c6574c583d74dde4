/*
 * bench_warm: runs a program many times with one keeper, from its pool of
 * waiting children if it has one. Hot: back to back, as many as wait. Gapped:
 * one at a time on an idle machine.
 */
#ifndef REMIT_BENCH_WARM_H
#define REMIT_BENCH_WARM_H

#include "bench.h"
#include "bench_program.h"
#include "bench_status.h"

struct bench_warm {
	const struct bench *bench;
	const struct bench_program *program;
	struct remit *remit; /* borrowed */
	char *policy;
};

/* Run the program once, to check that it works, and wait for its zygote and
   pool. */
int bench_warm_open(struct bench_warm *w, const struct bench *b,
		    const struct bench_program *program, struct remit *r,
		    struct remit_error *err) must_check;
void bench_warm_free(struct bench_warm *w);

/* Measure one run. Any number of threads may call this at once. */
int bench_warm_run(const struct bench_warm *w, double *us,
		   struct remit_error *err) must_check;

/* Start bursts of runs that empty the pool, until it has grown to this size or
   stops growing. */
int bench_warm_grow(const struct bench_warm *w, unsigned size,
		    struct remit_error *err) must_check;
/* Wait until the pool has enough children for a batch, for a limited time.
   Returns at once without a pool. */
int bench_warm_fill(const struct bench_warm *w, struct bench_status *out,
		    struct remit_error *err) must_check;

/* Add the times of one batch (hot), or of one run (gapped), to the row. */
int bench_warm_hot(const struct bench_warm *w, struct bench_row *row,
		   struct remit_error *err) must_check;
int bench_warm_gapped(const struct bench_warm *w, struct bench_row *row,
		      struct remit_error *err) must_check;

#endif
