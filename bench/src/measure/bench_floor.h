/*
 * bench_floor: what the jail itself costs. The same jails, zygote and program
 * as in a warm run, one after the other in a plain loop: no keeper, no client,
 * nobody who waits.
 */
#ifndef REMIT_BENCH_FLOOR_H
#define REMIT_BENCH_FLOOR_H

#include "bench.h"

/* One that goes through jails, in a process of its own. */
struct bench_floor {
	pid_t pid;
	int control;
};

/* A module for its zygote, and the directory where it lies. */
struct bench_ballast {
	const char *directory, *module;
};

struct bench_floor_count {
	double runs;
	double fork_us; /* of the last: from the command to the answer */
	double zygote_bytes, huge_bytes; /* the second: in huge pages */
};

/* Start it, with ballast or NULL; it is ready when this returns. */
int bench_floor_open(struct bench_floor *f, const struct bench *b,
		     const struct bench_ballast *ballast,
		     struct remit_error *err) must_check;
/* Let it run for so long, and once at least; then, what there was. */
int bench_floor_go(const struct bench_floor *f, double ms,
		   struct remit_error *err) must_check;
int bench_floor_count(const struct bench_floor *f,
		      struct bench_floor_count *out,
		      struct remit_error *err) must_check;
/* End them all. */
void bench_floor_free(struct bench_floor *all, size_t count);

#endif
