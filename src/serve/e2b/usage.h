/*
 * e2b_usage: what sandboxes use, sampled every few seconds, for clients that
 * request metrics.
 *
 * One thread asks the keeper about all sessions at once, as long as there are
 * sandboxes. Each sandbox keeps its newest samples.
 */
#ifndef REMIT_E2B_USAGE_H
#define REMIT_E2B_USAGE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct e2b;
struct remit;
struct sandbox;

#define USAGE_PERIOD_MS 5000
#define USAGE_SAMPLES	360 /* half an hour */

struct usage_sample {
	uint64_t at_ms; /* since 1970 */
	uint64_t cpu_ms;
	double cpu_percent; /* of all processors, since the last sample */
	uint64_t memory_bytes, cache_bytes, disk_bytes;
};

/* The samples of one sandbox, protected by the lock of struct e2b. */
struct usage {
	struct usage_sample samples[USAGE_SAMPLES]; /* a ring buffer */
	uint64_t count;				    /* of all samples */
};

/* Adds one sample from an entry of `sessions` of remit_status(). */
void usage_add(struct usage *u, const json_t *session, uint64_t now_ms,
	       uint64_t begun_ms, uint64_t cpus);

struct usage_sampler {
	pthread_t thread;
	pthread_cond_t changed;
	struct remit *remit;
	bool is_running, ends;
};

/* Called with the lock of `e` held when a sandbox was added: starts the thread,
   or wakes it. */
void usage_wake(struct e2b *e, struct remit *remit);
/* Ends the thread. */
void usage_end(struct e2b *e);

/* Replies with the samples of a sandbox, oldest first. */
struct exchange;
void e2b_get_usage(struct exchange *x);

#endif
