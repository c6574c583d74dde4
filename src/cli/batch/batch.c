#include "cli/batch/batch.h"

#include <sys/eventfd.h>

#include "cli/batch/directory.h"

/* How many jobs per thread may be ahead of the first job without a result. */
#define AHEAD 4

static void
raise_event(int fd)
{
	eventfd_write(fd, 1);
}

void
batch_stop(struct batch *b, enum batch_end end, const struct remit_error *why)
{
	pthread_mutex_lock(&b->lock);
	if (b->end == BATCH_GOES_ON) {
		b->end = end;
		if (why)
			b->error = *why;
	}
	pthread_cond_broadcast(&b->has_space);
	pthread_mutex_unlock(&b->lock);
	raise_event(b->stop_fd);
}

struct batch_count
batch_count_now(struct batch *b)
{
	struct batch_count c;

	pthread_mutex_lock(&b->lock);
	c = b->count;
	pthread_mutex_unlock(&b->lock);
	return c;
}

static enum batch_end
batch_end_of(struct batch *b)
{
	enum batch_end end;

	pthread_mutex_lock(&b->lock);
	end = b->end;
	pthread_mutex_unlock(&b->lock);
	return end;
}

/* ---- fetching jobs ---- */

/* Returns false if the batch ends. */
static bool
wait_for_space(struct batch *b)
{
	bool goes_on;

	pthread_mutex_lock(&b->lock);
	while (b->end == BATCH_GOES_ON &&
	       !batch_sequence_has_space(&b->sequence, b->fetched))
		pthread_cond_wait(&b->has_space, &b->lock);
	goes_on = b->end == BATCH_GOES_ON;
	pthread_mutex_unlock(&b->lock);
	return goes_on;
}

static int
refuse_job(struct batch_job *job, const char *message)
{
	struct remit_error why;

	fail(&why, REMIT_E_INPUT, "%s", message);
	batch_job_refuse(job, &why);
	return 0;
}

static int
parse_long_line(struct batch *b, struct batch_job *job, struct remit_error *err)
{
	if (batch_job_init(job, b->lines->number, err) < 0)
		return -1;
	return refuse_job(job, "a job must not be longer than 64 MiB");
}

static int
parse_job(struct batch *b, struct batch_job *job, struct remit_error *err)
{
	const struct batch_lines *l = b->lines;
	bool is_new;

	if (l->is_long)
		return parse_long_line(b, job, err);
	if (batch_job_parse(job, buf_text(&l->line), l->line.len, l->number,
			    b->policy, err) < 0)
		return -1;
	if (batch_ids_add(&b->seen, job->id, &is_new) < 0) {
		batch_job_free(job);
		return fail_memory(err, "ids");
	}
	if (!is_new && !job->is_bad)
		return refuse_job(job, "an earlier job has the same id");
	return 0;
}

static void
skip_job(struct batch *b, struct batch_job *job)
{
	batch_job_free(job);
	pthread_mutex_lock(&b->lock);
	b->count.skipped++;
	pthread_mutex_unlock(&b->lock);
}

/* Read the next line that is a job without a result. */
static enum batch_lines_answer
next_job(struct batch *b, struct batch_job *job, struct remit_error *err)
{
	enum batch_lines_answer a;

	while ((a = batch_lines_next(b->lines, err)) == BATCH_LINES_GIVEN) {
		if (batch_lines_is_blank(b->lines))
			continue;
		if (parse_job(b, job, err) < 0)
			return BATCH_LINES_ERROR;
		if (!batch_resume_is_done(b->done, job))
			break;
		skip_job(b, job);
	}
	return a;
}

/* Returns false if there are no more jobs. Jobs are fetched in the order of
   their lines, and *sequence is their index. */
static bool
fetch_job(struct batch *b, struct batch_job *job, uint64_t *sequence)
{
	enum batch_lines_answer a = BATCH_LINES_END;
	struct remit_error err;

	pthread_mutex_lock(&b->reading);
	if (wait_for_space(b))
		a = next_job(b, job, &err);
	if (a == BATCH_LINES_GIVEN)
		*sequence = b->fetched++;
	pthread_mutex_unlock(&b->reading);
	if (a == BATCH_LINES_ERROR)
		batch_stop(b, BATCH_FAILED, &err);
	return a == BATCH_LINES_GIVEN;
}

/* ---- running jobs ---- */

static int
run_job(struct batch *b, const struct batch_job *job, struct batch_result *out,
	struct remit_error *err)
{
	struct remit_job run = job->run;
	struct remit_result *res;
	struct remit_error why;
	int failed;

	if (b->artifacts && job->exports &&
	    batch_directory_begin(b->artifacts, job->id, &out->directory, err) <
		    0)
		return -1;
	run.artifacts_dir = out->directory;
	run.interrupt_fd = b->stop_fd;
	if (!run.policy_json)
		run.policy_json = b->policy_text;
	if (batch_runner_run(&b->runner, &run, &res, &why) == 0) {
		struct audit_run done = { .job = &run, .res = res };

		failed = audit_add(b->audit, &done, err);
		if (!failed)
			failed = batch_result_of_run(out, job->id, res, err);
		remit_result_free(res);
		return failed;
	}
	/* Find out whether only this job fails, or all others would fail
	   too. */
	if (why.code != REMIT_E_INPUT && !batch_runner_answers(&b->runner, err))
		return -1;
	return batch_result_of_error(out, job->id, 0, &why, err);
}

/* Returns false if the batch ends. */
static bool
get_result(struct batch *b, const struct batch_job *job,
	   struct batch_result *out)
{
	struct remit_error err;
	int failed;

	if (job->is_bad)
		failed = batch_result_of_error(out, job->id, job->line,
					       &job->why, &err);
	else
		failed = run_job(b, job, out, &err);
	if (failed < 0)
		batch_stop(b, BATCH_FAILED, &err);
	if (batch_end_of(b) == BATCH_GOES_ON)
		return true;
	batch_result_free(out);
	return false;
}

/* ---- writing results ---- */

static bool
next_result(struct batch *b, struct batch_result *out)
{
	bool is_there;

	pthread_mutex_lock(&b->lock);
	is_there = batch_sequence_pop(&b->sequence, out);
	pthread_cond_signal(&b->has_space);
	pthread_mutex_unlock(&b->lock);
	return is_there;
}

static void
write_result(struct batch *b, const struct batch_result *r)
{
	struct remit_error err;

	if (batch_end_of(b) == BATCH_FAILED)
		return;
	if (batch_output_write(b->output, &r->line, &err) < 0) {
		batch_stop(b, BATCH_FAILED, &err);
		return;
	}
	if (r->directory)
		batch_directory_end(r->directory);
	pthread_mutex_lock(&b->lock);
	batch_count_add(&b->count, r);
	pthread_mutex_unlock(&b->lock);
}

/* Add a result, and write all results whose turn it is. */
static void
deliver_result(struct batch *b, uint64_t sequence, struct batch_result *r)
{
	pthread_mutex_lock(&b->writing);
	pthread_mutex_lock(&b->lock);
	batch_sequence_put(&b->sequence, sequence, r);
	pthread_mutex_unlock(&b->lock);
	while (next_result(b, r)) {
		write_result(b, r);
		batch_result_free(r);
	}
	pthread_mutex_unlock(&b->writing);
}

/* ---- threads ---- */

static void
end_thread(struct batch *b)
{
	bool is_last;

	pthread_mutex_lock(&b->lock);
	is_last = --b->working == 0;
	pthread_mutex_unlock(&b->lock);
	if (is_last)
		raise_event(b->ended_fd);
}

static void *
thread_main(void *arg)
{
	struct batch *b = arg;
	struct batch_job job;
	uint64_t sequence;

	while (fetch_job(b, &job, &sequence)) {
		struct batch_result r = { 0 };

		if (get_result(b, &job, &r))
			deliver_result(b, sequence, &r);
		batch_job_free(&job);
	}
	end_thread(b);
	return NULL;
}

static int
start_threads(struct batch *b, struct remit_error *err)
{
	b->working = b->threads;
	while (b->started < b->threads) {
		errno = pthread_create(&b->handles[b->started], NULL,
				       thread_main, b);
		if (errno) {
			fail_sys(err, REMIT_E_KERNEL, "start a thread");
			batch_stop(b, BATCH_FAILED, err);
			return -1;
		}
		b->started++;
	}
	return 0;
}

static int
batch_prepare(struct batch *b, struct remit_error *err)
{
	size_t capacity = b->in_order ? (size_t)AHEAD * b->threads : 0;

	b->ended_fd = eventfd(0, EFD_CLOEXEC);
	b->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (b->ended_fd < 0 || b->stop_fd < 0)
		return fail_sys(err, REMIT_E_KERNEL, "eventfd");
	if (batch_sequence_init(&b->sequence, capacity) < 0)
		return fail_memory(err, "batch");
	b->lines->stop_fd = b->stop_fd;
	if (batch_job_policy(&b->policy_text, b->policy, err) < 0)
		return -1;
	return batch_runner_open(&b->runner, b->is_private, b->stop_fd, err);
}

static void
batch_release(struct batch *b)
{
	own_fd_close(&b->ended_fd);
	own_fd_close(&b->stop_fd);
	batch_ids_free(&b->seen);
	batch_sequence_free(&b->sequence);
	free(b->policy_text);
}

int
batch_start(struct batch *b, struct remit_error *err)
{
	pthread_mutex_init(&b->reading, NULL);
	pthread_mutex_init(&b->writing, NULL);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->has_space, NULL);
	b->seen = (struct batch_ids)BATCH_IDS_INIT;
	if (batch_prepare(b, err) < 0) {
		batch_release(b);
		return -1;
	}
	if (start_threads(b, err) < 0) {
		batch_finish(b);
		return -1;
	}
	return 0;
}

void
batch_finish(struct batch *b)
{
	for (unsigned i = 0; i < b->started; i++)
		pthread_join(b->handles[i], NULL);
	batch_runner_close(&b->runner);
	batch_release(b);
}
