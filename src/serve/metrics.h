/*
 * metrics: counters of the server in the text format of Prometheus.
 */
#ifndef REMIT_METRICS_H
#define REMIT_METRICS_H

#include <pthread.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/result.h"

struct exchange;
struct route;

/* The upper bounds of the buckets are in metrics.c; the last is +Inf. */
#define METRICS_BUCKETS 11
#define METRICS_ROUTES	512

struct metrics_row {
	const struct route *route; /* NULL: no route found */
	int status_class; /* 2, 4, 5; 0: disconnected before the reply */
	uint64_t count;
};

struct metrics {
	/* Only the HTTP thread uses the members down to the lock. */
	struct metrics_row rows[METRICS_ROUTES];
	size_t row_count;
	uint64_t in_flight;
	uint64_t buckets[METRICS_BUCKETS];
	double seconds;
	uint64_t finished;
	uint64_t sent_bytes;
	/* Workers use the rest, with the lock held. */
	pthread_mutex_t lock;
	uint64_t programs[STATUS_COUNT];
};

void metrics_open(struct metrics *m);
void metrics_free(struct metrics *m);
void metrics_begin(struct metrics *m);
void metrics_end(struct metrics *m, const struct exchange *x);
/* Counts a run or cell that ended with this status. For any thread. */
void metrics_program(struct metrics *m, const char *status);
/* Writes the number of hosted sessions of one key, and no other counters. */
int metrics_show_hosted(size_t hosted_count, struct buf *out) must_check;
/* Writes all counters. The caller counts hosted sessions and connections. */
int metrics_show(struct metrics *m, size_t hosted_count, size_t conns,
		 struct buf *out) must_check;

#endif
