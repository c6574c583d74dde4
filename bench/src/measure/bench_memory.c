/*
 * bench_memory: measures the memory of a waiting child and of a running
 * sandbox, as PSS, so that pages which several processes share are counted
 * once.
 */
#include "measure/measure.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file/path.h"
#include "base/number.h"
#include "base/proc.h"
#include "bench_peer.h"
#include "bench_warm.h"

/* ---- PSS ---- */

static bool
is_in_tree(pid_t pid, pid_t root)
{
	uint64_t at = (uint64_t)pid;

	if (pid == getpid())
		return false;
	while ((pid_t)at != root)
		if (at <= 1 || proc_status_number((pid_t)at, "PPid", &at) < 0)
			return false;
	return true;
}

/* Get the PSS of a process; 0 if it has ended. Returns -1 without
   permission. */
static int
read_pss(pid_t pid, double *bytes)
{
	own(buf) struct buf text = BUF_INIT(16 * 1024);
	struct remit_error err;
	const char *line;
	char path[64];

	*bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (path_read_file(&text, path, &err) < 0)
		return err.sys_errno == EACCES || err.sys_errno == EPERM ? -1
									 : 0;
	line = strstr(buf_text(&text), "\nPss:");
	if (line)
		*bytes = strtod(line + strlen("\nPss:"), NULL) * 1024;
	return 0;
}

/* Get the PSS (proc(5)) of a process and all its descendants, except this
   process. */
static int
bench_pss_tree(pid_t root, double *bytes, struct remit_error *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	double sum = 0, one;
	int bad = 0;

	if (!proc)
		return fail_sys(err, REMIT_E_KERNEL, "/proc");
	while ((entry = readdir(proc))) {
		uint64_t pid;

		if (number_parse(&pid, entry->d_name) < 0 ||
		    !is_in_tree((pid_t)pid, root))
			continue;
		if (read_pss((pid_t)pid, &one) < 0)
			bad = fail(err, REMIT_E_INPUT,
				   "only root may read its memory usage");
		sum += one;
	}
	closedir(proc);
	*bytes = sum;
	return bad;
}

/* ---- the section ---- */

#define SECTION	  "memory"
#define SLEEPERS  8
#define READY_MS  10000
#define LOOK_MS	  10
#define SETTLE_MS 300

static const struct bench_program sleeper = {
	.name = "sleeper",
	.code = "import time; print(1, flush=True); time.sleep(60)",
	.output = "1\n",
	.preset = "default",
};

/* Sandboxes that sleep until they are interrupted. */
struct sleepers {
	const struct bench_warm *warm;
	pthread_t threads[SLEEPERS];
	size_t started;
	int stop;
	atomic_uint ready, ended;
};

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct sleepers *s = user;

	(void)bytes;
	if (stream == REMIT_STDOUT && len)
		s->ready++;
}

static void *
sleep_inside(void *arg)
{
	struct sleepers *s = arg;
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	struct remit_error err;

	job.code = sleeper.code;
	job.code_len = strlen(job.code);
	job.policy_json = s->warm->policy;
	job.interrupt_fd = s->stop;
	job.on_output = on_output;
	job.user = s;
	if (remit_run(s->warm->remit, &job, &res, &err) == 0)
		remit_result_free(res);
	s->ended++;
	return NULL;
}

static int
start_sleepers(struct sleepers *s, struct remit_error *err)
{
	const struct bench *b = s->warm->bench;

	s->stop = eventfd(0, EFD_CLOEXEC);
	if (s->stop < 0)
		return fail_sys(err, REMIT_E_KERNEL, "eventfd");
	while (s->started < SLEEPERS &&
	       !pthread_create(&s->threads[s->started], NULL, sleep_inside, s))
		s->started++;
	for (int ms = 0; s->ready < SLEEPERS; ms += LOOK_MS) {
		if (s->ended || ms > READY_MS)
			return fail(err, REMIT_E_INPUT,
				    "the sandboxes did not start");
		if (bench_pause(b, LOOK_MS, err) < 0)
			return -1;
	}
	return 0;
}

static void
stop_sleepers(struct sleepers *s)
{
	const uint64_t one = 1;

	if (s->stop >= 0)
		(void)!write(s->stop, &one, sizeof(one));
	for (size_t i = 0; i < s->started; i++)
		pthread_join(s->threads[i], NULL);
	own_fd_close(&s->stop);
}

/* If the pool is not equally full before and after, the difference is
   corrected. */
static int
weigh_sandboxes(const struct bench_warm *w, double *each,
		struct remit_error *err)
{
	struct sleepers s = { .warm = w, .stop = -1 };
	struct bench_status before, after;
	double sum[2];
	int bad;

	if (bench_warm_grow(w, SLEEPERS, err) < 0 ||
	    bench_warm_fill(w, &before, err) < 0 ||
	    bench_pause(w->bench, SETTLE_MS, err) < 0 ||
	    bench_pss_tree(getpid(), &sum[0], err) < 0)
		return -1;
	bad = start_sleepers(&s, err) < 0 ||
	      bench_warm_fill(w, &after, err) < 0 ||
	      bench_pause(w->bench, SETTLE_MS, err) < 0 ||
	      bench_pss_tree(getpid(), &sum[1], err) < 0;
	stop_sleepers(&s);
	if (bad)
		return -1;
	sum[1] -= ((double)after.waiting - before.waiting) * after.child_bytes;
	*each = (sum[1] - sum[0]) / SLEEPERS;
	return 0;
}

static int
weigh_peer(const struct bench *b, const char *name, double *each,
	   struct remit_error *err)
{
	static const int streams[3] = { -1, -1, -1 };
	own(bench_command) struct bench_command c = { 0 };
	double sum = 0, one;
	pid_t pids[SLEEPERS];
	size_t n = 0;
	int bad = 0;

	if (bench_peer_command(bench_peer_find(name), b, &sleeper, &c, err) < 0)
		return -1;
	while (n < SLEEPERS && !bad) {
		bad = bench_spawn_start(b, &c, streams, &pids[n], err);
		n += !bad;
	}
	bad = bad || bench_pause(b, 2 * SETTLE_MS, err) < 0;
	for (size_t i = 0; i < n && !bad; i++) {
		bad = bench_pss_tree(pids[i], &one, err);
		sum += one;
	}
	while (n > 0)
		bench_spawn_end(pids[--n]);
	if (bad)
		return -1;
	*each = sum / SLEEPERS;
	return 0;
}

/* Add a row with the measured memory, or with the reason for its absence. */
static int
report_memory(struct bench *b, const char *name, double bytes, int bad,
	      struct remit_error *err)
{
	struct remit_error why = *err;
	struct bench_row *row;

	if (bench_check(b, err) < 0 ||
	    bench_report_add(&b->report, &row, SECTION, name, err) < 0)
		return -1;
	if (bad)
		bench_row_absent(row, "%s", why.message);
	else
		row->value[VALUE_MEMORY_BYTES] = bytes;
	return 0;
}

static int
weigh_peak(const struct bench_warm *w, double *bytes, struct remit_error *err)
{
	struct remit_job job = REMIT_JOB_INIT;
	struct remit_result *res;
	const json_t *peak;
	json_t *doc;

	job.code = w->program->code;
	job.code_len = strlen(job.code);
	job.policy_json = w->policy;
	if (remit_run(w->remit, &job, &res, err) < 0)
		return -1;
	doc = json_loads(remit_result_json(res), 0, NULL);
	remit_result_free(res);
	peak = json_object_get(json_object_get(doc, "usage"),
			       "memory_peak_bytes");
	*bytes = json_number_value(peak);
	json_decref(doc);
	if (*bytes > 0)
		return 0;
	return fail(err, REMIT_E_INPUT, "the result has no memory_peak_bytes");
}

static int
measure_remit(struct bench *b, const struct bench_warm *w,
	      struct remit_error *err)
{
	struct bench_status s;
	double bytes = 0;
	int bad = weigh_sandboxes(w, &bytes, err);

	if (report_memory(b, "each of 8 sandboxes asleep, added", bytes, bad,
			  err) < 0)
		return -1;
	bad = weigh_peak(w, &bytes, err);
	if (report_memory(b, "print(1) at its peak, by its result", bytes, bad,
			  err) < 0 ||
	    bench_warm_fill(w, &s, err) < 0)
		return -1;
	if (!s.waiting)
		fail(err, REMIT_E_INPUT, "this keeper has no pool");
	if (report_memory(b, "each waiting child, PSS", s.child_bytes,
			  !s.waiting, err) < 0)
		return -1;
	if (!s.zygote_bytes)
		fail(err, REMIT_E_INPUT, "this keeper has no zygote");
	return report_memory(b, "zygote, PSS", s.zygote_bytes,
			     s.zygote_bytes <= 0, err);
}

int
bench_memory_measure(struct bench *b, struct remit_error *err)
{
	static const struct {
		const char *name, *peer;
	} peers[] = { { "each of 8 python3 -I asleep, PSS", BENCH_BARE },
		      { "each of 8 bubblewrap asleep, PSS",
			BENCH_BUBBLEWRAP } };
	own(bench_warm) struct bench_warm warm = { 0 };
	struct remit *remit;
	double bytes = 0;
	int bad;

	if (!bench_wants(b, SECTION))
		return 0;
	bench_progress(b, SECTION);
	if (bench_remit(b, &remit, err) < 0)
		return -1;
	bad = bench_warm_open(&warm, b, &bench_programs[0], remit, err) < 0 ||
	      measure_remit(b, &warm, err) < 0;
	remit_close(remit);
	for (size_t i = 0; i < ARRAY_LEN(peers) && !bad; i++) {
		bad = weigh_peer(b, peers[i].peer, &bytes, err);
		bad = report_memory(b, peers[i].name, bytes, bad, err);
	}
	return bad ? -1 : 0;
}
