#include "cli/batch/runner.h"

#include <poll.h>
#include <string.h>

#include "cli/batch/directory.h"

#define BUSY_FIRST_MS 20
#define BUSY_LAST_MS  1000

static int
open_keeper(struct batch_runner *d, struct remit_error *err)
{
	struct remit_options opt = {
		.private_keeper = d->is_private,
		/* This program is the keeper as well. */
		.command_path = "/proc/self/exe",
	};

	return remit_open(&d->remit, &opt, err);
}

int
batch_runner_open(struct batch_runner *d, bool is_private, int stop_fd,
		  struct remit_error *err)
{
	*d = (struct batch_runner){ .is_private = is_private,
				    .stop_fd = stop_fd };
	if (open_keeper(d, err) < 0)
		return -1;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->replaced, NULL);
	return 0;
}

void
batch_runner_close(struct batch_runner *d)
{
	remit_close(d->remit);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->replaced);
}

/* Wait for a working keeper. No run starts with a lost keeper, so its last user
   leaves soon, and replaces it. */
static int
runner_enter(struct batch_runner *d, struct remit_error *err)
{
	bool is_there;

	pthread_mutex_lock(&d->lock);
	while (d->is_lost && d->remit)
		pthread_cond_wait(&d->replaced, &d->lock);
	is_there = d->remit;
	d->users += is_there;
	if (!is_there)
		*err = d->why;
	pthread_mutex_unlock(&d->lock);
	return is_there ? 0 : -1;
}

static void
runner_leave(struct batch_runner *d, bool found_dead)
{
	pthread_mutex_lock(&d->lock);
	d->users--;
	d->is_lost |= found_dead;
	if (d->is_lost && !d->users) {
		remit_close(d->remit);
		d->remit = NULL;
		d->is_lost = open_keeper(d, &d->why) < 0;
		pthread_cond_broadcast(&d->replaced);
	}
	pthread_mutex_unlock(&d->lock);
}

static int
run_once(struct batch_runner *d, const struct remit_job *job,
	 struct remit_result **out, struct remit_error *err)
{
	int failed;

	if (runner_enter(d, err) < 0)
		return -1;
	failed = remit_run(d->remit, job, out, err);
	runner_leave(d, failed && err->code == REMIT_E_GONE);
	return failed;
}

static int
run_twice(struct batch_runner *d, const struct remit_job *job,
	  struct remit_result **out, struct remit_error *err)
{
	if (run_once(d, job, out, err) == 0)
		return 0;
	if (err->code != REMIT_E_GONE)
		return -1;
	/* Files that the first run exported would block those of the second. */
	if (job->artifacts_dir &&
	    batch_directory_again(job->artifacts_dir, err) < 0)
		return -1;
	return run_once(d, job, out, err);
}

/* Returns false when the batch stops. */
static bool
wait_a_while(const struct batch_runner *d, int *ms)
{
	struct pollfd stop = { .fd = d->stop_fd, .events = POLLIN };
	int stopped = poll(&stop, 1, *ms);

	*ms = 2 * *ms < BUSY_LAST_MS ? 2 * *ms : BUSY_LAST_MS;
	return stopped <= 0;
}

int
batch_runner_run(struct batch_runner *d, const struct remit_job *job,
		 struct remit_result **out, struct remit_error *err)
{
	int ms = BUSY_FIRST_MS;
	struct remit_result *res;

	for (;;) {
		if (run_twice(d, job, &res, err) < 0)
			return -1;
		if (strcmp(remit_result_status(res), "busy") != 0 ||
		    !wait_a_while(d, &ms)) {
			*out = res;
			return 0;
		}
		remit_result_free(res);
	}
}

bool
batch_runner_answers(struct batch_runner *d, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;

	/* A working keeper refuses this policy without building a jail. */
	job.policy_json = "no policy";
	if (run_twice(d, &job, &res, err) < 0)
		return false;
	remit_result_free(res);
	return true;
}
