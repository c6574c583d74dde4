/* bench_stats: percentiles that are samples. */
#include "bench_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Add samples in descending order, so that the order cannot hide errors. */
static void
fill_stats(struct bench_stats *s, int count)
{
	for (int i = count; i > 0; i--)
		assert_int_equal(bench_stats_add(s, i), 0);
}

static void
expect_summary(int count, double p50, double p95, double p99)
{
	own(bench_stats) struct bench_stats s = { 0 };
	struct bench_summary sum;

	fill_stats(&s, count);
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_int_equal(sum.count, count);
	assert_float_equal(sum.min, 1, 0);
	assert_float_equal(sum.p50, p50, 0);
	assert_float_equal(sum.p95, p95, 0);
	assert_float_equal(sum.p99, p99, 0);
	assert_float_equal(sum.max, count, 0);
}

static void
percentile_is_the_nearest_sample_at_or_above(void **state)
{
	(void)state;
	expect_summary(1, 1, 1, 1);
	expect_summary(2, 1, 2, 2);
	expect_summary(5, 3, 5, 5);
	expect_summary(100, 50, 95, 99);
	expect_summary(101, 51, 96, 100);
	expect_summary(1000, 500, 950, 990);
}

static void
summary_keeps_the_order_of_samples(void **state)
{
	own(bench_stats) struct bench_stats s = { 0 };
	struct bench_summary sum;

	(void)state;
	fill_stats(&s, 3);
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_float_equal(s.us[0], 3, 0);
	assert_float_equal(s.us[2], 1, 0);
}

static void
summary_without_samples_is_zero(void **state)
{
	struct bench_stats s = { 0 };
	struct bench_summary sum = { .count = 7, .p50 = 7 };

	(void)state;
	assert_int_equal(bench_stats_sum(&s, &sum), 0);
	assert_int_equal(sum.count, 0);
	assert_float_equal(sum.p50, 0, 0);
}

static void
join_keeps_all_samples(void **state)
{
	own(bench_stats) struct bench_stats all = { 0 };
	own(bench_stats) struct bench_stats one = { 0 };
	struct bench_summary sum;

	(void)state;
	fill_stats(&all, 10);
	fill_stats(&one, 200);
	assert_int_equal(bench_stats_join(&all, &one), 0);
	assert_int_equal(bench_stats_sum(&all, &sum), 0);
	assert_int_equal(sum.count, 210);
	assert_float_equal(sum.max, 200, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentile_is_the_nearest_sample_at_or_above),
		cmocka_unit_test(summary_keeps_the_order_of_samples),
		cmocka_unit_test(summary_without_samples_is_zero),
		cmocka_unit_test(join_keeps_all_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
