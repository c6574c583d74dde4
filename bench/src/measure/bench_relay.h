/*
 * bench_relay: a byte that goes from this process to a second one, from there
 * to a third, and back: the four switches of a warm run, and nothing else.
 */
#ifndef REMIT_BENCH_RELAY_H
#define REMIT_BENCH_RELAY_H

#include <sys/types.h>

#include "base/error.h"

struct bench_relay {
	int peer; /* to the second; closed, both end */
	pid_t pid;
};

#define BENCH_RELAY_INIT { .peer = -1 }

int bench_relay_open(struct bench_relay *r, struct remit_error *err) must_check;
int bench_relay_ask(const struct bench_relay *r, double *us,
		    struct remit_error *err) must_check;
void bench_relay_close(struct bench_relay *r);

#endif
