/*
 * metrics: what the server has done, as counters in the text format of
 * Prometheus.
 */
#ifndef REMIT_METRICS_H
#define REMIT_METRICS_H

#include <pthread.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/result.h"

struct exchange;
struct route;

/* Upper ends of the buckets are in metrics.c; the last is +Inf. */
#define METRICS_BUCKETS 11
#define METRICS_ROUTES	512

struct metrics_row {
	const struct route *route; /* NULL: none was found */
	int status_class;	   /* 2, 4, 5; 0: the client went before it */
	uint64_t count;
};

struct metrics {
	/* Of the thread of HTTP. */
	struct metrics_row rows[METRICS_ROUTES];
	size_t row_count;
	uint64_t in_flight;
	uint64_t buckets[METRICS_BUCKETS];
	double seconds;
	uint64_t finished;
	uint64_t sent_bytes;
	/* Of workers. */
	pthread_mutex_t lock;
	uint64_t programs[STATUS_COUNT];
};

void metrics_open(struct metrics *m);
void metrics_free(struct metrics *m);
void metrics_begin(struct metrics *m);
void metrics_end(struct metrics *m, const struct exchange *x);
/* A run or cell has ended with this status. From any thread. */
void metrics_program(struct metrics *m, const char *status);
/* Of one key alone: how many hosted sessions it has. */
int metrics_show_hosted(size_t hosted_count, struct buf *out) must_check;
/* Hosted sessions and connections are counted by others. */
int metrics_show(struct metrics *m, size_t hosted_count, size_t conns,
		 struct buf *out) must_check;

#endif
