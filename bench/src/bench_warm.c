#include "bench_warm.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ZYGOTE_WAIT_MS 10000
#define FILL_WAIT_MS   2000
#define LOOK_MS	       5
#define BATCH_MAX      16
#define BURSTS	       24

/* Fail with the status and error of a result. */
static int
fail_with_result(const struct remit_result *res, struct remit_error *err)
{
	json_t *doc = json_loads(remit_result_json(res), 0, NULL);
	const json_t *error = json_object_get(doc, "error");
	const char *where = json_string_value(json_object_get(error, "where"));
	const char *value = json_string_value(json_object_get(error, "value"));

	fail(err, REMIT_E_INPUT, "%s%s%s%s%s", remit_result_status(res),
	     where ? ": " : "", where ? where : "", value ? ": " : "",
	     value ? value : "");
	json_decref(doc);
	return -1;
}

/* Name a new directory for each run, since artifacts never replace files. */
static const char *
name_directory(const struct bench_warm *w, char *out, size_t size)
{
	static atomic_uint count;

	snprintf(out, size, "%s/artifacts-%u", w->bench->directory,
		 atomic_fetch_add(&count, 1));
	return out;
}

int
bench_warm_run(const struct bench_warm *w, double *us, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	double begun = bench_stats_now_us();
	char directory[sizeof(w->bench->directory) + 48] = "";
	size_t len;
	int bad;

	job.code = w->program->code;
	job.code_len = strlen(job.code);
	job.policy_json = w->policy;
	job.interrupt_fd = w->bench->signals;
	if (w->program->exported)
		job.artifacts_dir =
			name_directory(w, directory, sizeof(directory));
	bad = remit_run(w->remit, &job, &res, err);
	*us = bench_stats_now_us() - begun;
	if (*directory)
		bench_directory_remove(directory);
	if (bad)
		return -1;
	bad = bench_check(w->bench, err);
	if (!bad && (strcmp(remit_result_status(res), "ok") ||
		     strcmp(remit_result_output(res, REMIT_STDOUT, &len),
			    w->program->output)))
		bad = fail_with_result(res, err);
	remit_result_free(res);
	return bad;
}

static struct bench_status
warm_status(const struct bench_warm *w)
{
	return bench_status_get(w->remit, w->program->preload);
}

/* Returns true if enough children wait for a batch, or as many as the pool
   should have. */
static bool
is_full(const struct bench_status *s)
{
	unsigned enough = s->target < BATCH_MAX ? s->target : BATCH_MAX;

	return s->waiting > 0 && s->waiting >= enough;
}

int
bench_warm_fill(const struct bench_warm *w, struct bench_status *out,
		struct remit_error *err)
{
	struct bench_status s = warm_status(w);
	int left_ms = FILL_WAIT_MS;

	while (s.target && !is_full(&s) && left_ms > 0) {
		if (bench_pause(w->bench, LOOK_MS, err) < 0)
			return -1;
		left_ms -= LOOK_MS;
		s = warm_status(w);
	}
	*out = s;
	return 0;
}

/* Wait for a zygote and a pool. Either they appear after the first run, or
   never. */
static int
await_pool(const struct bench_warm *w, struct remit_error *err)
{
	struct bench_status s = warm_status(w);
	int waited_ms = 0;

	while (s.known && !s.failed && !s.waiting &&
	       waited_ms < (s.has_zygote ? ZYGOTE_WAIT_MS : FILL_WAIT_MS)) {
		if (bench_pause(w->bench, LOOK_MS, err) < 0)
			return -1;
		waited_ms += LOOK_MS;
		s = warm_status(w);
	}
	return 0;
}

int
bench_warm_open(struct bench_warm *w, const struct bench *b,
		const struct bench_program *program, struct remit *r,
		struct remit_error *err)
{
	double us;

	*w = (struct bench_warm){ .bench = b, .program = program, .remit = r };
	if (bench_program_policy(program, b->python->executable, &w->policy,
				 err) < 0 ||
	    bench_warm_run(w, &us, err) < 0)
		return -1;
	return await_pool(w, err);
}

void
bench_warm_free(struct bench_warm *w)
{
	free(w->policy);
	w->policy = NULL;
}

struct burst {
	pthread_t thread;
	const struct bench_warm *warm;
	int bad;
	struct remit_error err;
};

static void *
burst_thread(void *arg)
{
	struct burst *one = arg;
	double us;

	one->bad = bench_warm_run(one->warm, &us, &one->err);
	return NULL;
}

static int
run_burst(const struct bench_warm *w, size_t count, struct remit_error *err)
{
	struct burst *all = calloc(count, sizeof(*all));
	size_t started;
	int bad = 0;

	if (!all)
		return fail_memory(err, "threads");
	for (started = 0; started < count; started++) {
		all[started].warm = w;
		if (pthread_create(&all[started].thread, NULL, burst_thread,
				   &all[started]))
			break;
	}
	for (size_t i = 0; i < started; i++) {
		pthread_join(all[i].thread, NULL);
		if (all[i].bad) {
			*err = all[i].err;
			bad = -1;
		}
	}
	free(all);
	return bad;
}

int
bench_warm_grow(const struct bench_warm *w, unsigned size,
		struct remit_error *err)
{
	struct bench_status s;

	for (unsigned i = 0; i < BURSTS; i++) {
		if (bench_warm_fill(w, &s, err) < 0)
			return -1;
		if (!s.target || s.target >= size)
			return 0;
		/* Start one run more than children wait, and a few more if
		   refills were faster. */
		if (run_burst(w, s.waiting + 1 + i / 4, err) < 0)
			return -1;
	}
	return 0;
}

static int
time_runs(const struct bench_warm *w, struct bench_row *row, unsigned count,
	  double hits_before, struct remit_error *err)
{
	struct bench_status after;
	double us;

	for (unsigned i = 0; i < count; i++) {
		if (bench_warm_run(w, &us, err) < 0 ||
		    bench_row_add(row, us, err) < 0)
			return -1;
	}
	after = warm_status(w);
	if (!after.known)
		return 0;
	if (isnan(row->value[VALUE_POOL_HITS]))
		row->value[VALUE_POOL_HITS] = 0;
	if (after.hits > hits_before)
		row->value[VALUE_POOL_HITS] += after.hits - hits_before;
	return 0;
}

int
bench_warm_hot(const struct bench_warm *w, struct bench_row *row,
	       struct remit_error *err)
{
	struct bench_status s;
	unsigned batch = BATCH_MAX;

	if (bench_warm_fill(w, &s, err) < 0)
		return -1;
	if (s.target && s.waiting < batch)
		batch = s.waiting ? s.waiting : 1;
	return time_runs(w, row, batch, s.hits, err);
}

int
bench_warm_gapped(const struct bench_warm *w, struct bench_row *row,
		  struct remit_error *err)
{
	struct bench_status s = warm_status(w);

	if (bench_pause(w->bench, BENCH_GAP_MS, err) < 0)
		return -1;
	return time_runs(w, row, 1, s.hits, err);
}
