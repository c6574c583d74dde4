/*
 * bench_warm: a program run again and again through one keeper, whose pool of
 * waiting children serves it if there is one. Hot: back to back, as many as
 * wait. Gapped: one at a time on an idle machine.
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

/* Run it once, to see whether it works, and wait for its zygote and pool. An
   error says why not. */
int bench_warm_open(struct bench_warm *w, const struct bench *b,
		    const struct bench_program *program, struct remit *r,
		    struct remit_error *err) must_check;
void bench_warm_free(struct bench_warm *w);

/* One run. Any number of threads may do this at once. */
int bench_warm_run(const struct bench_warm *w, double *us,
		   struct remit_error *err) must_check;

/* Bursts that find the pool empty, so that it grows until it is of this size
   or grows no more. */
int bench_warm_grow(const struct bench_warm *w, unsigned size,
		    struct remit_error *err) must_check;
/* Wait until the pool holds enough for a batch, for a while; without a pool
   not at all. */
int bench_warm_fill(const struct bench_warm *w, struct bench_status *out,
		    struct remit_error *err) must_check;

/* One batch, or one run, added to the row. */
int bench_warm_hot(const struct bench_warm *w, struct bench_row *row,
		   struct remit_error *err) must_check;
int bench_warm_gapped(const struct bench_warm *w, struct bench_row *row,
		      struct remit_error *err) must_check;

#endif
