/* batch_progress: the progress bar and the summary of a batch. */
#include "cli/batch/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct batch_count
count_of(int ok, int error, int refused)
{
	struct batch_result r = { .status = STATUS_OK, .is_good = true };
	struct batch_count c = { 0 };

	for (int i = 0; i < ok; i++)
		batch_count_add(&c, &r);
	r.is_good = false;
	for (int i = 0; i < error + refused; i++) {
		r.status = i < error ? STATUS_ERROR : STATUS_REFUSED;
		batch_count_add(&c, &r);
	}
	return c;
}

static void
check_bar(uint64_t total, const struct batch_count *c, uint64_t wall_ms,
	  unsigned columns, const char *wanted)
{
	struct batch_bar b = { .total = total };
	own(buf) struct buf out = BUF_INIT(512);

	assert_int_equal(batch_bar_show(&b, c, wall_ms, columns, &out), 0);
	assert_string_equal(buf_text(&out), wanted);
	assert_int_equal(out.len, strlen(wanted));
}

static void
bar_shows_progress_rate_outcome_and_time_left(void **state)
{
	struct batch_count c = count_of(200, 50, 0);

	(void)state;
	check_bar(1000, &c, 1000, 100,
		  "[=======>                      ] 250/1000  250/s  200 ok, "
		  "50 failed  0:03 left");
	c.skipped = 500;
	check_bar(1000, &c, 250000, 100,
		  "[======================>       ] 750/1000  1.0/s  200 ok, "
		  "50 failed  4:10 left");
	check_bar(10000, &c, 250000, 100,
		  "[==>                           ] 750/10000  1.0/s  200 ok, "
		  "50 failed  2:34:10 left");
}

static void
bar_is_full_at_the_end_and_never_overflows(void **state)
{
	struct batch_count c = count_of(30, 0, 0);

	(void)state;
	check_bar(30, &c, 1000, 80,
		  "[==============================] 30/30  30/s  30 ok, 0 "
		  "failed  0:00 left");
	check_bar(20, &c, 1000, 80,
		  "[==============================] 30/30  30/s  30 ok, 0 "
		  "failed  0:00 left");
}

static void
bar_omits_gauge_without_total_or_results(void **state)
{
	struct batch_count c = count_of(3, 0, 0), none = { 0 };

	(void)state;
	check_bar(0, &c, 1000, 80, "3  3.0/s  3 ok, 0 failed");
	check_bar(10, &none, 1000, 60, "0/10  0.0/s  0 ok, 0 failed");
}

static void
bar_never_exceeds_a_narrow_terminal(void **state)
{
	struct batch_count c = count_of(30, 0, 0);

	(void)state;
	for (unsigned columns = 20; columns < 120; columns++) {
		struct batch_bar b = { .total = 100 };
		own(buf) struct buf out = BUF_INIT(512);

		assert_int_equal(batch_bar_show(&b, &c, 1000, columns, &out),
				 0);
		assert_true(out.len < columns);
	}
	check_bar(100, &c, 1000, 0, "30/100  30/s  30 ok");
}

static void
summary_names_only_statuses_that_occurred(void **state)
{
	struct batch_count c = count_of(7, 2, 1), one = count_of(1, 0, 0);
	own(buf) struct buf out = BUF_INIT(512);
	own(buf) struct buf short_one = BUF_INIT(512);

	(void)state;
	assert_int_equal(batch_count_show(&c, 3200, &out), 0);
	assert_string_equal(buf_text(&out), "10 jobs: 7 ok, 2 error, 1 refused "
					    "in 3.2 s, 3.1/s");
	one.skipped = 5;
	assert_int_equal(batch_count_show(&one, 10, &short_one), 0);
	assert_string_equal(buf_text(&short_one),
			    "1 job: 1 ok, 5 done before in 0.0 s, 100/s");
}

static void
all_ran_is_false_if_a_job_was_refused_or_lost(void **state)
{
	struct batch_count c = count_of(1, 1, 0);

	(void)state;
	assert_true(batch_count_all_ran(&c));
	for (int i = 0; i < STATUS_COUNT; i++) {
		struct batch_result r = { .status = (enum status)i };
		struct batch_count one = { 0 };

		batch_count_add(&one, &r);
		assert_int_equal(batch_count_all_ran(&one),
				 statuses[i].exit_code != 125);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bar_shows_progress_rate_outcome_and_time_left),
		cmocka_unit_test(bar_is_full_at_the_end_and_never_overflows),
		cmocka_unit_test(bar_omits_gauge_without_total_or_results),
		cmocka_unit_test(bar_never_exceeds_a_narrow_terminal),
		cmocka_unit_test(summary_names_only_statuses_that_occurred),
		cmocka_unit_test(all_ran_is_false_if_a_job_was_refused_or_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
