/*
 * cell_clock: deadlines, and how they move while the code waits for the host.
 * Time is what the test says it is.
 */
#include "keeper/session/cell_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
