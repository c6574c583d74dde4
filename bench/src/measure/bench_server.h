/*
 * bench_server: somebody at loopback who answers, in a thread of the bench. A
 * connection begins with 'e': that byte comes back; or with 's': bytes come for
 * as long as they are taken.
 */
#ifndef REMIT_BENCH_SERVER_H
#define REMIT_BENCH_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bench_server {
	int fd;
	uint16_t port;
	pthread_t thread;
	bool runs;
};

int bench_server_open(struct bench_server *s,
		      struct remit_error *err) must_check;
/* It follows a failed open, too. */
void bench_server_free(struct bench_server *s);

#endif
