/*
 * bench_beside: measures warm runs while another run of the same keeper only
 * makes system calls that are denied, compared with warm runs alone.
 */
#include "measure/measure.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "bench_warm.h"

#define SECTION "beside a flood, warm, gapped"
/* Both kinds alternate after this many runs. */
#define TURN 10
/* How long to wait until the flood has begun. */
#define BEGIN_MS 100

#define FLOOD                      \
	"import os\n"              \
	"while True:\n"            \
	"    try:\n"               \
	"        os.chroot('/')\n" \
	"    except OSError:\n"    \
	"        pass\n"

struct flood {
	pthread_t thread;
	const struct bench_warm *warm; /* the flood runs in the same keeper */
	int stop[2]; /* closing the second end stops the flood */
	int bad;
	struct remit_error err;
};

/* Repeat the flood each time its run times out, until it is interrupted. */
static void *
flood_thread(void *arg)
{
	struct flood *f = arg;
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	bool enough = false;

	job.code = FLOOD;
	job.code_len = strlen(job.code);
	job.policy_json = f->warm->policy;
	job.interrupt_fd = f->stop[0];
	while (!enough && !f->bad) {
		f->bad = remit_run(f->warm->remit, &job, &res, &f->err);
		if (f->bad)
			break;
		enough = strcmp(remit_result_status(res), "timeout") != 0;
		remit_result_free(res);
	}
	return NULL;
}

static int
flood_begin(struct flood *f, const struct bench_warm *w,
	    struct remit_error *err)
{
	*f = (struct flood){ .warm = w };
	if (pipe2(f->stop, O_CLOEXEC) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "pipe");
	if (pthread_create(&f->thread, NULL, flood_thread, f)) {
		close(f->stop[0]);
		close(f->stop[1]);
		return fail(err, REMIT_E_KERNEL, "cannot start a thread");
	}
	return 0;
}

static int
flood_end(struct flood *f, struct remit_error *err)
{
	close(f->stop[1]);
	pthread_join(f->thread, NULL);
	close(f->stop[0]);
	if (f->bad)
		*err = f->err;
	return f->bad;
}

static int
measure_turn(const struct bench_warm *w, struct bench_row *row,
	     struct remit_error *err)
{
	for (int i = 0; i < TURN; i++)
		if (bench_warm_gapped(w, row, err) < 0)
			return -1;
	return 0;
}

static int
measure_turn_beside(const struct bench_warm *w, struct bench_row *row,
		    struct remit_error *err)
{
	struct flood flood;
	struct remit_error late;
	int bad;

	if (flood_begin(&flood, w, err) < 0)
		return -1;
	bad = bench_pause(w->bench, BEGIN_MS, err) < 0 ||
	      measure_turn(w, row, err) < 0;
	if (flood_end(&flood, &late) < 0 && !bad) {
		*err = late;
		bad = true;
	}
	return bad ? -1 : 0;
}

static int
measure_beside(const struct bench_warm *w, struct bench_row *alone,
	       struct bench_row *beside, struct remit_error *err)
{
	for (unsigned i = 0; i < w->bench->opt.rounds; i += TURN)
		if (measure_turn(w, alone, err) < 0 ||
		    measure_turn_beside(w, beside, err) < 0)
			return -1;
	return bench_row_compare(beside, alone, err);
}

int
bench_beside_measure(struct bench *b, struct remit_error *err)
{
	struct bench_row *alone, *beside;
	struct bench_warm warm = { 0 };
	struct remit *r;
	int bad;

	if (!bench_wants(b, SECTION))
		return 0;
	bench_progress(b, "%s", SECTION);
	if (bench_report_add(&b->report, &alone, SECTION, "alone", err) < 0 ||
	    bench_report_add(&b->report, &beside, SECTION, "beside", err) < 0 ||
	    bench_remit(b, &r, err) < 0)
		return -1;
	bad = bench_warm_open(&warm, b, &bench_programs[0], r, err) < 0 ||
	      measure_beside(&warm, alone, beside, err) < 0;
	bench_warm_free(&warm);
	remit_close(r);
	return bad ? -1 : 0;
}
