/*
 * bench_driver: a peer that lives on. It writes "ready" once it has answered
 * for the first time, then reads lines, and for each runs the program once
 * and writes how many milliseconds that took.
 */
#ifndef REMIT_BENCH_DRIVER_H
#define REMIT_BENCH_DRIVER_H

#include "bench_spawn.h"

struct bench_driver {
	pid_t pid;
	int in, out;
};

/* Returns when it is ready. */
int bench_driver_open(struct bench_driver *d, const struct bench *b,
		      const struct bench_command *c,
		      struct remit_error *err) must_check;
int bench_driver_ask(const struct bench_driver *d, const struct bench *b,
		     double *us, struct remit_error *err) must_check;
void bench_driver_close(struct bench_driver *d);

#endif
