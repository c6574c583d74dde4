/*
 * bench_branches: measures a branch of a session with 100 MiB of data until its
 * first answer, compared with a fork() of a process of the same size.
 */
#include "measure/measure.h"

#include <stdio.h>
#include <string.h>

#include "bench_peer.h"

#define SECTION	    "a branch of a session with 100 MiB"
#define BYTES	    "104857600"
#define PREPARE	    "x = b'1' * " BYTES
#define READ_SIZE   "print(len(x))"
#define ANSWER	    BYTES "\n"
#define FORKS	    60
#define FORKS_QUICK 5

static unsigned
count_of(const struct bench *b)
{
	return b->opt.quick ? FORKS_QUICK : FORKS;
}

static int
time_branch(struct bench *b, struct remit_session *s, struct bench_row *row,
	    struct remit_error *err)
{
	double begun = bench_stats_now_us(), us, of_cell;
	struct remit_session *branch;
	int bad;

	if (remit_session_fork(s, NULL, &branch, err) < 0)
		return -1;
	bad = bench_cell(b, branch, READ_SIZE, ANSWER, &of_cell, err);
	us = bench_stats_now_us() - begun;
	remit_session_drop(branch);
	return bad ? -1 : bench_row_add(row, us, err);
}

static int
measure_session(struct bench *b, struct remit *r, struct remit_error *err)
{
	char policy[1024];
	const struct remit_session_options opt = { .policy_json = policy,
						   .forkable = 1 };
	struct remit_session *s = NULL;
	struct bench_row *row;
	double us;
	int bad;

	snprintf(policy, sizeof(policy),
		 "{\"python\":\"%.800s\",\"memory_bytes\":\"1G\","
		 "\"branches\":64}",
		 b->python->executable);
	if (bench_new_row(b, SECTION, "remit, a branch and its first cell",
			  &row, err) < 0 ||
	    remit_session_open(r, &opt, &s, err) < 0)
		return -1;
	bad = bench_cell(b, s, PREPARE, "", &us, err);
	for (unsigned i = 0; i < count_of(b) && !bad; i++)
		bad = time_branch(b, s, row, err);
	remit_session_drop(s);
	return bad;
}

static int
measure_own(struct bench *b, struct remit_error *err)
{
	struct remit *r = NULL;
	int bad;

	if (bench_remit(b, &r, err) < 0)
		return -1;
	bad = measure_session(b, r, err);
	remit_close(r);
	return bad;
}

static int
time_driver(struct bench *b, const struct bench_driver *d,
	    struct bench_row *row, struct remit_error *err)
{
	for (unsigned i = 0; i < count_of(b); i++) {
		double us;

		if (bench_driver_time(d, b, &us, err) < 0 ||
		    bench_row_add(row, us, err) < 0)
			return -1;
	}
	return 0;
}

static int
measure_bare(struct bench *b, struct remit_error *err)
{
	own(bench_command) struct bench_command c = { .env = &b->env_given };
	char path[sizeof(b->drivers) + 16];
	const char *words[] = { b->python->executable, "-I", path, BYTES };
	struct bench_driver d;
	struct bench_row *row;
	int bad;

	if (bench_new_row(b, SECTION, "fork() of one process", &row, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/forks.py", b->drivers);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (list_add(&c.argv, words[i]) < 0)
			return fail_memory(err, "command");
	bad = bench_driver_open(&d, b, &c, err);
	if (!bad)
		bad = time_driver(b, &d, row, err);
	bench_driver_close(&d);
	return bad ? bench_absent(b, row, err) : 0;
}

int
bench_branches_measure(struct bench *b, struct remit_error *err)
{
	if (!bench_wants(b, SECTION))
		return 0;
	return measure_own(b, err) < 0 ? -1 : measure_bare(b, err);
}
