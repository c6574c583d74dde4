/*
 * batch_runner: runs jobs with the keeper that all threads of a batch share. A
 * keeper that died is replaced; a busy one is tried again later.
 */
#ifndef REMIT_BATCH_RUNNER_H
#define REMIT_BATCH_RUNNER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

struct batch_runner {
	bool is_private; /* only a private keeper can run the policy */
	int stop_fd;	 /* borrowed; when it is readable, waiting stops */
	pthread_mutex_t lock;
	pthread_cond_t replaced;
	struct remit *remit;	/* NULL: replacing the keeper failed */
	struct remit_error why; /* the error, if `remit` is NULL */
	bool is_lost;		/* a thread found it dead */
	unsigned users;		/* running jobs */
};

int batch_runner_open(struct batch_runner *d, bool is_private, int stop_fd,
		      struct remit_error *err) must_check;
/*
 * Like remit_run(), but runs the job a second time if the keeper dies. The
 * result is "busy" or "interrupted" only once stop_fd is readable.
 */
int batch_runner_run(struct batch_runner *d, const struct remit_job *job,
		     struct remit_result **out,
		     struct remit_error *err) must_check;
/* Returns true if the keeper answers; else *err has the reason. */
bool batch_runner_answers(struct batch_runner *d,
			  struct remit_error *err) must_check;
void batch_runner_close(struct batch_runner *d);

#endif
