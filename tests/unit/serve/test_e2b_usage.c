/* e2b_usage: samples of what a sandbox uses. */
#include "serve/e2b/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct usage usage;

static const struct usage_sample *
newest(void)
{
	return &usage.samples[(usage.count - 1) % USAGE_SAMPLES];
}

/* Adds a sample of a sandbox that began at 1000 ms and has two processors. */
static void
add(uint64_t now_ms, json_t *session)
{
	usage_add(&usage, session, now_ms, 1000, 2);
	json_decref(session);
}

static int
reset(void **state)
{
	(void)state;
	usage = (struct usage){ 0 };
	return 0;
}

static void
percent_is_a_share_of_all_processors_since_the_last_sample(void **state)
{
	(void)state;
	add(2000, json_pack("{s:i}", "cpu_ms", 500));
	assert_float_equal(newest()->cpu_percent, 25, 0.001);
	add(3000, json_pack("{s:i}", "cpu_ms", 2500));
	assert_float_equal(newest()->cpu_percent, 100, 0.001);
	add(7000, json_pack("{s:i}", "cpu_ms", 2500));
	assert_float_equal(newest()->cpu_percent, 0, 0.001);
	/* A jail that was replaced counts from zero. */
	add(8000, json_pack("{s:i}", "cpu_ms", 1000));
	assert_float_equal(newest()->cpu_percent, 50, 0.001);
	/* Clocks and counters are not read at the same time. */
	add(8001, json_pack("{s:i}", "cpu_ms", 2000));
	assert_float_equal(newest()->cpu_percent, 100, 0.001);
	add(8001, json_pack("{s:i}", "cpu_ms", 2000));
	assert_float_equal(newest()->cpu_percent, 0, 0.001);
}

static void
memory_of_the_interpreter_counts_without_a_cgroup(void **state)
{
	(void)state;
	add(2000, json_pack("{s:i, s:i, s:i, s:i}", "memory_bytes", 5,
			    "charged_bytes", 7, "cache_bytes", 3,
			    "disk_used_bytes", 2));
	assert_int_equal(newest()->memory_bytes, 7);
	assert_int_equal(newest()->cache_bytes, 3);
	assert_int_equal(newest()->disk_bytes, 2);
	add(3000, json_pack("{s:i, s:n, s:n, s:n}", "memory_bytes", 5,
			    "charged_bytes", "cache_bytes", "disk_used_bytes"));
	assert_int_equal(newest()->memory_bytes, 5);
	assert_int_equal(newest()->cache_bytes | newest()->disk_bytes, 0);
}

static void
oldest_samples_make_room_for_new_ones(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= USAGE_SAMPLES + 5; i++)
		add(1000 + i, json_object());
	assert_int_equal(usage.count, USAGE_SAMPLES + 5);
	assert_int_equal(newest()->at_ms, 1000 + USAGE_SAMPLES + 5);
	assert_int_equal(usage.samples[5].at_ms, 1006);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			percent_is_a_share_of_all_processors_since_the_last_sample,
			reset),
		cmocka_unit_test_setup(
			memory_of_the_interpreter_counts_without_a_cgroup,
			reset),
		cmocka_unit_test_setup(oldest_samples_make_room_for_new_ones,
				       reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
