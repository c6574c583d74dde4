/*
 * bench_floor: measures the jail alone: the same jails, zygote and program as
 * in a warm run, one after the other in a loop, without keeper and client.
 */
#ifndef REMIT_BENCH_FLOOR_H
#define REMIT_BENCH_FLOOR_H

#include "bench.h"

/* A worker process that runs jails. */
struct bench_floor {
	pid_t pid;
	int control;
};

/* A module for the zygote, and the directory that contains it. */
struct bench_ballast {
	const char *directory, *module;
};

struct bench_floor_count {
	double runs;
	double fork_us; /* time of the last fork, from command to answer */
	double zygote_bytes, huge_bytes; /* huge_bytes: part in huge pages */
};

/* Start a worker, with ballast or NULL, and wait until it is ready. */
int bench_floor_open(struct bench_floor *f, const struct bench *b,
		     const struct bench_ballast *ballast,
		     struct remit_error *err) must_check;
/* Let the worker run jails for this long, at least one; then get the counts. */
int bench_floor_go(const struct bench_floor *f, double ms,
		   struct remit_error *err) must_check;
int bench_floor_count(const struct bench_floor *f,
		      struct bench_floor_count *out,
		      struct remit_error *err) must_check;
/* End all workers. */
void bench_floor_free(struct bench_floor *all, size_t count);

#endif
