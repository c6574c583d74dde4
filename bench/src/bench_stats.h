/*
 * bench_stats: the times of one measurement, and their percentiles.
 */
#ifndef REMIT_BENCH_STATS_H
#define REMIT_BENCH_STATS_H

#include <stddef.h>

#include "base/own.h"

struct bench_stats {
	double *us; /* in the order of measurement */
	size_t count, capacity;
};

/* Percentiles are samples, the nearest at or above; nothing is interpolated. */
struct bench_summary {
	size_t count;
	double min, p50, p95, p99, max;
};

/* Returns microseconds of the monotonic clock. */
double bench_stats_now_us(void);

/* Add a sample. Returns -1 with errno ENOMEM. */
int bench_stats_add(struct bench_stats *s, double us) must_check;
int bench_stats_join(struct bench_stats *to,
		     const struct bench_stats *from) must_check;
/* Without samples all members are 0. */
int bench_stats_sum(const struct bench_stats *s,
		    struct bench_summary *out) must_check;
void bench_stats_free(struct bench_stats *s);

#endif
