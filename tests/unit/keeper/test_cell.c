/*
 * cell: the keys of a job in a run and in a cell; a reset clears everything.
 * The clock of a cell: deadlines, and how they move while the code waits for
 * the host. The test passes the time.
 */
#include "keeper/session/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cmocka defines fail() as a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

static int
take(struct cell *c, const char *records, size_t len, bool many,
     unsigned *options)
{
	struct frame f = { .type = FRAME_JOB,
			   .payload = records,
			   .len = (uint32_t)len };
	struct remit_error err;
	int failed = cell_parse_job(c, &f, many, options, &err);

	if (failed)
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	return failed;
}

#define TAKE(c, records, many, options) \
	take(c, records, sizeof(records), many, options)

static void
job_fills_its_cell(void **state)
{
	struct cell c = CELL_INIT;
	unsigned options = 0;

	(void)state;
	assert_int_equal(TAKE(&c,
			      "name\0a.py\0argv\0one\0argv\0two\0"
			      "timeout_ms\0007\0questions\0yes\0tenant\0me\0"
			      "once\0yes\0artifacts\0yes\0stays\0yes",
			      false, &options),
			 0);
	assert_int_equal(c.arrival, CELL_ARRIVING);
	assert_string_equal(c.name, "a.py");
	assert_int_equal(c.argv.count, 2);
	assert_int_equal(c.timeout_ms, 7);
	assert_string_equal(c.tenant, "me");
	assert_true(c.can_answer);
	assert_int_equal(options, SESSION_OPTION_ONCE |
					  SESSION_OPTION_ARTIFACTS |
					  SESSION_OPTION_STAYS);
	cell_free(&c);
}

static void
runs_and_cells_have_different_keys(void **state)
{
	static const struct {
		const char *records;
		size_t len;
		bool run, cell;
	} rows[] = {
#define ROW(records, run, cell) { records, sizeof(records), run, cell }
		ROW("artifacts\0yes", true, false),
		ROW("stays\0yes", true, false),
		ROW("once\0yes", true, true),
		ROW("interactive\0yes", false, true),
		ROW("context\0c", false, true),
		ROW("env\0A=b", false, true),
		ROW("fresh\0yes", false, true),
		ROW("timeout_ms\0soon", false, false),
		ROW("colour\0red", false, false),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int many = 0; many < 2; many++) {
			struct cell c = CELL_INIT;
			unsigned options = 0;
			bool taken = take(&c, rows[i].records, rows[i].len,
					  many, &options) == 0;

			assert_int_equal(taken,
					 many ? rows[i].cell : rows[i].run);
			cell_free(&c);
		}
}

static void
code_length_is_limited(void **state)
{
	struct frame f = { .type = FRAME_CODE, .payload = "1234", .len = 4 };
	struct cell c = CELL_INIT;
	struct remit_error err;

	(void)state;
	assert_int_equal(cell_add_code(&c, &f, 8, &err), 0);
	assert_int_equal(cell_add_code(&c, &f, 8, &err), 0);
	assert_int_equal(cell_add_code(&c, &f, 8, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_int_equal(c.code.len, 8);
	cell_free(&c);
}

static void
first_error_is_kept(void **state)
{
	struct remit_error first, second;
	struct cell c = CELL_INIT;

	(void)state;
	assert_false(cell_has_failed(&c));
	fail_with(&first, REMIT_E_BUSY, "first");
	fail_with(&second, REMIT_E_MEMORY, "second");
	cell_fail(&c, &first);
	cell_fail(&c, &second);
	assert_true(cell_has_failed(&c));
	assert_string_equal(c.error.message, "first");
	cell_free(&c);
}

static void
reset_cell_equals_a_new_one(void **state)
{
	static const struct cell new = CELL_INIT;
	struct cell c = CELL_INIT;
	unsigned options = 0;

	(void)state;
	assert_int_equal(TAKE(&c,
			      "name\0a\0argv\0b\0context\0c\0env\0D=e\0"
			      "fresh\0yes\0interactive\0yes\0timeout_ms\0001",
			      true, &options),
			 0);
	assert_int_equal(buf_add(&c.code, "x", 1), 0);
	assert_int_equal(buf_add(&c.changes, "x", 1), 0);
	cell_make_id(c.id);
	cell_free(&c);
	c = (struct cell)CELL_INIT;
	assert_memory_equal(&c, &new, sizeof(c));
}

static void
clock_returns_the_earliest_moment(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	assert_int_equal(cell_clock_next(&c), 0);
	c.cpu_check_us = 30;
	assert_int_equal(cell_clock_next(&c), 30);
	c.deadline_us = 20;
	c.output_us = 10;
	assert_int_equal(cell_clock_next(&c), 10);
	c.output_us = 0;
	assert_int_equal(cell_clock_next(&c), 20);
}

static void
pause_moves_the_deadline_by_its_length(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	/* Until the pause ends, it may last as long as is allowed. */
	assert_int_equal(cell_clock_deadline(&c), 1500);
	cell_clock_resume(&c, 300);
	assert_int_equal(cell_clock_deadline(&c), 1200);
	assert_int_equal(cell_clock_paused_us(&c, 400), 200);
}

static void
overlapping_pauses_count_once(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	cell_clock_pause(&c, 200);
	cell_clock_resume(&c, 300);
	assert_int_equal(cell_clock_paused_us(&c, 400), 300);
	cell_clock_resume(&c, 400);
	cell_clock_resume(&c, 450); /* without a pause */
	assert_int_equal(cell_clock_deadline(&c), 1300);
	assert_int_equal(cell_clock_paused_us(&c, 999), 300);
}

static void
pauses_are_limited_in_total(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 0);
	cell_clock_resume(&c, 400);
	cell_clock_pause(&c, 500);
	assert_int_equal(cell_clock_deadline(&c), 1500);
	cell_clock_resume(&c, 900);
	assert_int_equal(cell_clock_deadline(&c), 1500);
	/* The length of a pause is reported even if the clock ran on. */
	assert_int_equal(cell_clock_paused_us(&c, 900), 800);
}

static void
pause_does_not_postpone_a_decided_end(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	cell_clock_cut_short(&c, 700);
	assert_int_equal(cell_clock_deadline(&c), 700);
	cell_clock_resume(&c, 600);
	assert_int_equal(cell_clock_deadline(&c), 700);
	cell_clock_cut_short(&c, 900);
	assert_int_equal(cell_clock_deadline(&c), 700);
}

static void
deadline_is_set_by_cutting_short(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 0, 500);
	cell_clock_pause(&c, 100);
	assert_int_equal(cell_clock_deadline(&c), 0);
	cell_clock_resume(&c, 200);
	assert_int_equal(cell_clock_deadline(&c), 0);
	cell_clock_cut_short(&c, 900);
	assert_int_equal(cell_clock_deadline(&c), 900);
}

static void
new_cell_has_no_pause(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	cell_clock_start(&c, 2000, 500);
	assert_int_equal(cell_clock_deadline(&c), 2000);
	assert_int_equal(cell_clock_paused_us(&c, 3000), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_fills_its_cell),
		cmocka_unit_test(runs_and_cells_have_different_keys),
		cmocka_unit_test(code_length_is_limited),
		cmocka_unit_test(first_error_is_kept),
		cmocka_unit_test(reset_cell_equals_a_new_one),
		cmocka_unit_test(clock_returns_the_earliest_moment),
		cmocka_unit_test(pause_moves_the_deadline_by_its_length),
		cmocka_unit_test(overlapping_pauses_count_once),
		cmocka_unit_test(pauses_are_limited_in_total),
		cmocka_unit_test(pause_does_not_postpone_a_decided_end),
		cmocka_unit_test(deadline_is_set_by_cutting_short),
		cmocka_unit_test(new_cell_has_no_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
