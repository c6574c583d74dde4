/*
 * batch_runner: the keeper of a batch, for all its threads. One that died is
 * replaced, and one that has too much to do is asked again later.
 */
#ifndef REMIT_BATCH_RUNNER_H
#define REMIT_BATCH_RUNNER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

struct batch_runner {
	bool is_private; /* no shared keeper will do */
	int stop_fd;	 /* borrowed; readable: do not wait any more */
	pthread_mutex_t lock;
	pthread_cond_t replaced;
	struct remit *remit;	/* NULL: it could not be replaced */
	struct remit_error why; /* why not */
	bool is_lost;		/* somebody has found it dead */
	unsigned users;		/* runs that last */
};

int batch_runner_open(struct batch_runner *d, bool is_private, int stop_fd,
		      struct remit_error *err) must_check;
/*
 * remit_run(), once more if the keeper dies on the way. The answer may be
 * busy or interrupted once stop_fd is readable.
 */
int batch_runner_run(struct batch_runner *d, const struct remit_job *job,
		     struct remit_result **out,
		     struct remit_error *err) must_check;
/* Whether there is a keeper that answers. If not, *err says why. */
bool batch_runner_answers(struct batch_runner *d,
			  struct remit_error *err) must_check;
void batch_runner_close(struct batch_runner *d);

#endif
