/*
 * bench_stats: the times of one measurement, and what is told of them.
 */
#ifndef REMIT_BENCH_STATS_H
#define REMIT_BENCH_STATS_H

#include <stddef.h>

#include "base/own.h"

struct bench_stats {
	double *us; /* in the order they came */
	size_t count, capacity;
};

/* Percentiles are samples, the nearest at or above: none is made up. */
struct bench_summary {
	size_t count;
	double min, p50, p95, p99, max;
};

/* Microseconds of a clock that only goes forward. */
double bench_stats_now_us(void);

/* -1 with errno ENOMEM. */
int bench_stats_add(struct bench_stats *s, double us) must_check;
int bench_stats_join(struct bench_stats *to,
		     const struct bench_stats *from) must_check;
/* All zero if there are no samples. */
int bench_stats_sum(const struct bench_stats *s,
		    struct bench_summary *out) must_check;
void bench_stats_free(struct bench_stats *s);

#endif
