/*
 * batch: many jobs through one keeper, by several threads.
 *
 * A thread takes a line, runs its job, hands the result over, and takes the
 * next line. So no more is in memory than what the threads work on and what
 * waits for its turn (cli/batch/result.h), besides the ids.
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

/* A keeper runs no more at once. */
#define BATCH_THREADS_MAX 64

enum batch_end {
	BATCH_GOES_ON, /* or it has come to the end of its jobs */
	BATCH_INTERRUPTED,
	BATCH_FAILED, /* `error` says why */
};

struct batch {
	/* Set by the caller. */
	struct batch_lines *lines;
	const struct batch_output *output;
	const struct policy *policy; /* of jobs, where theirs does not differ */
	const struct batch_ids *done; /* jobs that have their result */
	struct audit *audit;
	const char *artifacts; /* where each job gets a directory, or NULL */
	unsigned threads;
	bool in_order;
	bool is_private; /* no shared keeper will do */

	/* Readable when the last thread has ended. */
	int ended_fd;

	/* Of whoever takes a job. */
	pthread_mutex_t reading;
	struct batch_ids seen;
	uint64_t fetched;

	/* Of whoever writes a result. It may be held for long. */
	pthread_mutex_t writing;

	/* Of all; it is never held while anything is waited for. */
	pthread_mutex_t lock;
	pthread_cond_t has_space;
	struct batch_sequence sequence;
	struct batch_count count;
	enum batch_end end;
	struct remit_error error;
	unsigned working;

	struct batch_runner runner;
	char *policy_text; /* `policy`, as a run is given it */
	int stop_fd;	   /* readable once `end` is set */
	pthread_t handles[BATCH_THREADS_MAX];
	unsigned started;
};

/* Open the keeper and begin. */
int batch_start(struct batch *b, struct remit_error *err) must_check;
/*
 * Take no more jobs and interrupt those that run; none of them gets a result,
 * whatever it says: a program may catch the signal and seem well. Results
 * that have their turn are still written, unless it is writing that failed.
 */
void batch_stop(struct batch *b, enum batch_end end,
		const struct remit_error *why);
/* How far it is. */
struct batch_count batch_count_now(struct batch *b);
/* Wait for the threads, and release everything. */
void batch_finish(struct batch *b);

#endif
