/*
 * cell: what a job may say, of a run and of a cell; and that nothing of one
 * cell is left when it is reset. Of its clock: deadlines, and how they move
 * while the code waits for the host. Time is what the test says it is.
 */
#include "keeper/session/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before cmocka takes the name for a macro. */
static int (*const fail_with)(struct remit_error *, enum remit_code,
			      const char *, ...) = fail;

#include <cmocka.h>

static int
take(struct cell *c, const char *records, size_t len, bool many,
     unsigned *wishes)
{
	struct frame f = { .type = FRAME_JOB,
			   .payload = records,
			   .len = (uint32_t)len };
	struct remit_error err;
	int failed = cell_take_job(c, &f, many, wishes, &err);

	if (failed)
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	return failed;
}

#define TAKE(c, records, many, wishes) \
	take(c, records, sizeof(records), many, wishes)

static void
a_job_fills_its_cell(void **state)
{
	struct cell c = CELL_INIT;
	unsigned wishes = 0;

	(void)state;
	assert_int_equal(TAKE(&c,
			      "name\0a.py\0argv\0one\0argv\0two\0"
			      "timeout_ms\0007\0questions\0yes\0tenant\0me\0"
			      "once\0yes\0artifacts\0yes\0stays\0yes",
			      false, &wishes),
			 0);
	assert_int_equal(c.arrival, CELL_ARRIVING);
	assert_string_equal(c.name, "a.py");
	assert_int_equal(c.argv.count, 2);
	assert_int_equal(c.timeout_ms, 7);
	assert_string_equal(c.tenant, "me");
	assert_true(c.answers);
	assert_int_equal(wishes, WISH_ONCE | WISH_ARTIFACTS | WISH_STAYS);
	cell_free(&c);
}

static void
runs_and_cells_know_different_keys(void **state)
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
			unsigned wishes = 0;
			bool taken = take(&c, rows[i].records, rows[i].len,
					  many, &wishes) == 0;

			assert_int_equal(taken,
					 many ? rows[i].cell : rows[i].run);
			cell_free(&c);
		}
}

static void
code_is_no_longer_than_it_may_be(void **state)
{
	struct frame f = { .type = FRAME_CODE, .payload = "1234", .len = 4 };
	struct cell c = CELL_INIT;
	struct remit_error err;

	(void)state;
	assert_int_equal(cell_take_code(&c, &f, 8, &err), 0);
	assert_int_equal(cell_take_code(&c, &f, 8, &err), 0);
	assert_int_equal(cell_take_code(&c, &f, 8, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_int_equal(c.code.len, 8);
	cell_free(&c);
}

static void
the_first_error_stays(void **state)
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
a_reset_cell_is_like_a_new_one(void **state)
{
	static const struct cell new = CELL_INIT;
	struct cell c = CELL_INIT;
	unsigned wishes = 0;

	(void)state;
	assert_int_equal(TAKE(&c,
			      "name\0a\0argv\0b\0context\0c\0env\0D=e\0"
			      "fresh\0yes\0interactive\0yes\0timeout_ms\0001",
			      true, &wishes),
			 0);
	assert_int_equal(buf_add(&c.code, "x", 1), 0);
	assert_int_equal(buf_add(&c.changes, "x", 1), 0);
	cell_make_id(c.id);
	cell_free(&c);
	c = (struct cell)CELL_INIT;
	assert_memory_equal(&c, &new, sizeof(c));
}

static void
the_next_moment_is_the_first_of_all(void **state)
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
a_hold_moves_the_deadline_by_the_time_it_lasts(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	/* Until it is released it may last as long as is allowed. */
	assert_int_equal(cell_clock_deadline(&c), 1500);
	cell_clock_resume(&c, 300);
	assert_int_equal(cell_clock_deadline(&c), 1200);
	assert_int_equal(cell_clock_paused_us(&c, 400), 200);
}

static void
holds_overlap_and_count_once(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	cell_clock_pause(&c, 200);
	cell_clock_resume(&c, 300);
	assert_int_equal(cell_clock_paused_us(&c, 400), 300);
	cell_clock_resume(&c, 400);
	cell_clock_resume(&c, 450); /* of no hold */
	assert_int_equal(cell_clock_deadline(&c), 1300);
	assert_int_equal(cell_clock_paused_us(&c, 999), 300);
}

static void
the_clock_stands_no_longer_than_it_may_in_all(void **state)
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
	/* What it was held is reported, whether the clock stood or not. */
	assert_int_equal(cell_clock_paused_us(&c, 900), 800);
}

static void
a_decided_end_is_not_put_off(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 1000, 500);
	cell_clock_pause(&c, 100);
	cell_clock_hurry(&c, 700);
	assert_int_equal(cell_clock_deadline(&c), 700);
	cell_clock_resume(&c, 600);
	assert_int_equal(cell_clock_deadline(&c), 700);
	cell_clock_hurry(&c, 900);
	assert_int_equal(cell_clock_deadline(&c), 700);
}

static void
without_a_deadline_only_a_hurry_makes_one(void **state)
{
	struct cell_clock c = { 0 };

	(void)state;
	cell_clock_start(&c, 0, 500);
	cell_clock_pause(&c, 100);
	assert_int_equal(cell_clock_deadline(&c), 0);
	cell_clock_resume(&c, 200);
	assert_int_equal(cell_clock_deadline(&c), 0);
	cell_clock_hurry(&c, 900);
	assert_int_equal(cell_clock_deadline(&c), 900);
}

static void
a_new_cell_holds_nothing(void **state)
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
		cmocka_unit_test(a_job_fills_its_cell),
		cmocka_unit_test(runs_and_cells_know_different_keys),
		cmocka_unit_test(code_is_no_longer_than_it_may_be),
		cmocka_unit_test(the_first_error_stays),
		cmocka_unit_test(a_reset_cell_is_like_a_new_one),
		cmocka_unit_test(the_next_moment_is_the_first_of_all),
		cmocka_unit_test(
			a_hold_moves_the_deadline_by_the_time_it_lasts),
		cmocka_unit_test(holds_overlap_and_count_once),
		cmocka_unit_test(the_clock_stands_no_longer_than_it_may_in_all),
		cmocka_unit_test(a_decided_end_is_not_put_off),
		cmocka_unit_test(without_a_deadline_only_a_hurry_makes_one),
		cmocka_unit_test(a_new_cell_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
