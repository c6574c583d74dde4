/* bench_status: reads a keeper's status. */
#include "bench_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const none[] = { NULL };
static const char *const numpy[] = { "numpy", NULL };
static const char *const both[] = { "numpy", "pandas", NULL };

static const char example[] =
	"{\"pid\": 5, \"zygotes\": ["
	"{\"pid\": 6, \"preload\": [], \"state\": \"ready\","
	" \"memory_bytes\": 1000},"
	"{\"pid\": 7, \"preload\": [\"numpy\"], \"state\": \"failed\","
	" \"memory_bytes\": 0}],"
	"\"pools\": ["
	"{\"plan\": \"a\", \"preload\": [], \"waiting\": 1, \"target\": 2,"
	" \"hits\": 3, \"memory_bytes\": 500},"
	"{\"plan\": \"b\", \"preload\": [], \"waiting\": 4, \"target\": 8,"
	" \"hits\": 16, \"memory_bytes\": 800}]}";

/* Replaces the library's function: returns the text that the test has set. */
static const char *answer;

int
remit_status(struct remit *r, char **json, struct remit_error *err)
{
	(void)r;
	if (!answer) {
		*err = (struct remit_error){ .code = REMIT_E_GONE };
		return -1;
	}
	*json = strdup(answer);
	return 0;
}

static void
status_finds_the_latest_pool_of_a_preload(void **state)
{
	struct bench_status s = bench_status_parse(example, none);

	(void)state;
	assert_true(s.known);
	assert_true(s.has_zygote);
	assert_false(s.failed);
	assert_int_equal(s.waiting, 4);
	assert_int_equal(s.target, 8);
	assert_float_equal(s.hits, 16, 0);
	assert_float_equal(s.child_bytes, 200, 0);
	assert_float_equal(s.zygote_bytes, 1000, 0);
}

static void
status_tells_pools_apart_by_preload(void **state)
{
	struct bench_status s = bench_status_parse(example, numpy);

	(void)state;
	assert_true(s.known);
	assert_true(s.failed);
	assert_int_equal(s.waiting, 0);
	assert_float_equal(s.child_bytes, 0, 0);
	s = bench_status_parse(example, both);
	assert_true(s.known);
	assert_false(s.has_zygote);
	assert_float_equal(s.zygote_bytes, 0, 0);
}

static void
status_without_pools_is_unknown(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "{\"pid\": 1}",
					     "{\"pools\": 3}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(bench_status_parse(texts[i], none).known);
	assert_true(bench_status_parse("{\"pools\": []}", none).known);
}

static void
keeper_without_status_is_unknown(void **state)
{
	(void)state;
	answer = NULL;
	assert_false(bench_status_get(NULL, none).known);
	answer = example;
	assert_int_equal(bench_status_get(NULL, none).waiting, 4);
}

static void
keeper_is_settled_when_every_pool_is_full(void **state)
{
	(void)state;
	assert_true(bench_status_parse_settled("{\"pools\": []}"));
	assert_true(bench_status_parse_settled(
		"{\"pools\": [{\"waiting\": 3, \"target\": 2}]}"));
	assert_false(bench_status_parse_settled(
		"{\"pools\": [{\"waiting\": 3, \"target\": 2,"
		" \"building\": 1}]}"));
	assert_false(bench_status_parse_settled(example));
	answer = NULL;
	assert_true(bench_status_is_settled(NULL));
	answer = example;
	assert_false(bench_status_is_settled(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_finds_the_latest_pool_of_a_preload),
		cmocka_unit_test(status_tells_pools_apart_by_preload),
		cmocka_unit_test(status_without_pools_is_unknown),
		cmocka_unit_test(keeper_without_status_is_unknown),
		cmocka_unit_test(keeper_is_settled_when_every_pool_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
