/*
 * batch: runs many jobs with one keeper and several threads.
 *
 * A thread reads a line, runs its job, delivers the result, and reads the next
 * line. Memory holds only the jobs that the threads run, the results that wait
 * for their turn (cli/batch/result.h), and the ids.
 */
#ifndef REMIT_BATCH_H
#define REMIT_BATCH_H

#include "cli/batch/ids.h"
#include "cli/batch/job.h"
#include "cli/batch/lines.h"
#include "cli/batch/output.h"
#include "cli/batch/progress.h"
#include "cli/batch/result.h"
#include "cli/batch/runner.h"
#include "cli/report/audit.h"

/* A keeper does not run more jobs at once. */
#define BATCH_THREADS_MAX 64

enum batch_end {
	BATCH_GOES_ON, /* it runs, or all jobs have a result */
	BATCH_INTERRUPTED,
	BATCH_FAILED, /* the reason is in `error` */
};

struct batch {
	/* Set by the caller. */
	struct batch_lines *lines;
	const struct batch_output *output;
	const struct policy
		*policy; /* the policy of each job, which may change it */
	const struct batch_ids *done; /* jobs that already have a result */
	struct audit *audit;
	const char *artifacts; /* the parent of each job's directory, or NULL */
	unsigned threads;
	bool in_order;
	bool is_private; /* only a private keeper can run the policy */

	/* Readable when the last thread has ended. */
	int ended_fd;

	/* Held by the thread that reads a job. */
	pthread_mutex_t reading;
	struct batch_ids seen;
	uint64_t fetched;

	/* Held by the thread that writes results, possibly for long. */
	pthread_mutex_t writing;

	/* Protects all below. A thread never waits while it holds it. */
	pthread_mutex_t lock;
	pthread_cond_t has_space;
	struct batch_sequence sequence;
	struct batch_count count;
	enum batch_end end;
	struct remit_error error;
	unsigned working;

	struct batch_runner runner;
	char *policy_text; /* `policy` as JSON */
	int stop_fd;	   /* readable once `end` is set */
	pthread_t handles[BATCH_THREADS_MAX];
	unsigned started;
};

/* Open the keeper and start the threads. */
int batch_start(struct batch *b, struct remit_error *err) must_check;
/*
 * Fetch no more jobs and interrupt the running ones. These get no result,
 * however they end: a program may catch the signal and end as if nothing
 * happened. Results whose turn it is are still written, unless writing has
 * failed.
 */
void batch_stop(struct batch *b, enum batch_end end,
		const struct remit_error *why);
/* Returns the counts so far. */
struct batch_count batch_count_now(struct batch *b);
/* Wait for the threads and release everything. */
void batch_finish(struct batch *b);

#endif
