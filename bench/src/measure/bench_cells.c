/*
 * bench_cells: measures a thousand cells in one session, compared with the same
 * code in an unprotected process and in a Jupyter kernel.
 */
#include "measure/measure.h"

#include <stdio.h>
#include <string.h>

#include "bench_peer.h"

#define SECTION	    "1,000 cells in a session"
#define CELLS	    1000
#define CELLS_QUICK 100

static unsigned
count_of(const struct bench *b)
{
	return b->opt.quick ? CELLS_QUICK : CELLS;
}

/* ---- Remit ---- */

static int
measure_session(struct bench *b, struct remit *r, const char *policy,
		struct remit_error *err)
{
	struct remit_session_options opt = { .policy_json = policy };
	const struct bench_program *p = &bench_programs[0];
	struct remit_session *s = NULL;
	struct bench_row *row;
	double us;
	int bad;

	if (bench_new_row(b, SECTION, "remit, one session", &row, err) < 0 ||
	    remit_session_open(r, &opt, &s, err) < 0)
		return -1;
	bad = 0;
	for (unsigned i = 0; i < count_of(b) && !bad; i++) {
		bad = bench_cell(b, s, p->code, p->output, &us, err);
		if (!bad)
			bad = bench_row_add(row, us, err);
	}
	remit_session_drop(s);
	return bad;
}

static int
measure_own(struct bench *b, struct remit_error *err)
{
	own_mem char *policy = NULL;
	struct remit *r = NULL;
	int bad;

	if (bench_program_policy(&bench_programs[0], b->python->executable,
				 &policy, err) < 0 ||
	    bench_remit(b, &r, err) < 0)
		return -1;
	bad = measure_session(b, r, policy, err);
	remit_close(r);
	return bad;
}

/* ---- others ---- */

/* With `outside`, measure the time here, as for Remit; else use the time that
   the driver reports, since it is a client itself. */
static int
time_driver(struct bench *b, const struct bench_driver *d, bool outside,
	    struct bench_row *row, struct remit_error *err)
{
	for (unsigned i = 0; i < count_of(b); i++) {
		double begun = bench_stats_now_us(), us;

		if (bench_driver_time(d, b, &us, err) < 0)
			return -1;
		if (outside)
			us = bench_stats_now_us() - begun;
		if (bench_row_add(row, us, err) < 0)
			return -1;
	}
	return 0;
}

static int
measure_driver(struct bench *b, const struct bench_command *c, bool outside,
	       struct bench_row *row, struct remit_error *err)
{
	struct bench_driver d;
	int bad = bench_driver_open(&d, b, c, err);

	if (!bad)
		bad = time_driver(b, &d, outside, row, err);
	bench_driver_close(&d);
	return bad;
}

static int
measure_bare(struct bench *b, struct remit_error *err)
{
	own(bench_command) struct bench_command c = { .env = &b->env_given };
	char path[sizeof(b->drivers) + 16];
	const char *words[] = { b->python->executable, "-I", path,
				bench_programs[0].code };
	struct bench_row *row;

	if (bench_new_row(b, SECTION, "exec() in one process", &row, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/cells.py", b->drivers);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (list_add(&c.argv, words[i]) < 0)
			return fail_memory(err, "command");
	if (measure_driver(b, &c, true, row, err) < 0)
		return bench_absent(b, row, err);
	return 0;
}

static int
measure_jupyter(struct bench *b, struct remit_error *err)
{
	const struct bench_peer *p = bench_peer_find("Jupyter, one kernel");
	own(bench_command) struct bench_command c = { 0 };
	struct bench_row *row;

	if (b->opt.quick)
		return 0;
	if (bench_new_row(b, SECTION, p->name, &row, err) < 0)
		return -1;
	if (bench_peer_command(p, b, &bench_programs[0], &c, err) < 0 ||
	    measure_driver(b, &c, false, row, err) < 0)
		return bench_absent(b, row, err);
	return 0;
}

int
bench_cells_measure(struct bench *b, struct remit_error *err)
{
	if (!bench_wants(b, SECTION))
		return 0;
	if (measure_own(b, err) < 0 || measure_bare(b, err) < 0)
		return -1;
	return measure_jupyter(b, err);
}
