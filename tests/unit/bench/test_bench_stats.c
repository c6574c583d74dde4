/* bench_stats: percentiles that are samples. */
#include "bench_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Added from the last to the first, so that order cannot help. */
static void
fill(struct bench_stats *s, int count)
{
	for (int i = count; i > 0; i--)
		assert_int_equal(bench_stats_add(s, i), 0);
}

static void
check(int count, double p50, double p95, double p99)
{
	own(bench_stats) struct bench_stats s = { 0 };
	struct bench_summary sum;

	fill(&s, count);
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_int_equal(sum.count, count);
	assert_float_equal(sum.min, 1, 0);
	assert_float_equal(sum.p50, p50, 0);
	assert_float_equal(sum.p95, p95, 0);
	assert_float_equal(sum.p99, p99, 0);
	assert_float_equal(sum.max, count, 0);
}

static void
a_percentile_is_the_nearest_sample_at_or_above(void **state)
{
	(void)state;
	check(1, 1, 1, 1);
	check(2, 1, 2, 2);
	check(5, 3, 5, 5);
	check(100, 50, 95, 99);
	check(101, 51, 96, 100);
	check(1000, 500, 950, 990);
}

static void
a_summary_leaves_the_samples_in_their_order(void **state)
{
	own(bench_stats) struct bench_stats s = { 0 };
	struct bench_summary sum;

	(void)state;
	fill(&s, 3);
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_float_equal(s.us[0], 3, 0);
	assert_float_equal(s.us[2], 1, 0);
}

static void
without_samples_all_is_zero(void **state)
{
	struct bench_stats s = { 0 };
	struct bench_summary sum = { .count = 7, .p50 = 7 };

	(void)state;
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_int_equal(sum.count, 0);
	assert_float_equal(sum.p50, 0, 0);
}

static void
joined_samples_are_all_there(void **state)
{
	own(bench_stats) struct bench_stats all = { 0 };
	own(bench_stats) struct bench_stats one = { 0 };
	struct bench_summary sum;

	(void)state;
	fill(&all, 10);
	fill(&one, 200);
	assert_int_equal(bench_stats_join(&all, &one), 0);
	assert_int_equal(bench_stats_sum(&all, &sum), 0);
	assert_int_equal(sum.count, 210);
	assert_float_equal(sum.max, 200, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_percentile_is_the_nearest_sample_at_or_above),
		cmocka_unit_test(a_summary_leaves_the_samples_in_their_order),
		cmocka_unit_test(without_samples_all_is_zero),
		cmocka_unit_test(joined_samples_are_all_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
