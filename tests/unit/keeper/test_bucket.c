/*
 * bucket: a number of events at once, then a steady rate, in the time that the
 * caller passes.
 */
#include "keeper/pool/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define START UINT64_C(1000000000)

/* Defined in the client's library, which this test does not link. */
const char *
remit_version(void)
{
	return "1.2.3";
}

static void
take_all_tokens(struct bucket *b, uint64_t now)
{
	uint64_t next = 0;

	for (int i = 0; i < BUCKET_TOKENS; i++)
		assert_true(bucket_take(b, now, &next));
	assert_int_equal(next, 0);
}

static void
new_bucket_is_full(void **state)
{
	struct bucket b = { 0 };
	uint64_t next = 0;

	(void)state;
	take_all_tokens(&b, START);
	assert_false(bucket_take(&b, START, &next));
	assert_int_equal(next, START + BUCKET_EACH_US);
}

static void
empty_bucket_gives_one_token_per_interval(void **state)
{
	struct bucket b = { 0 };
	uint64_t next = 0, now = START;

	(void)state;
	take_all_tokens(&b, now);
	for (int i = 0; i < 1000; i++) {
		assert_false(bucket_take(&b, now, &next));
		assert_int_equal(next, now + BUCKET_EACH_US);
		assert_false(bucket_take(&b, next - 1, &next));
		now = next;
		assert_true(bucket_take(&b, now, &next));
	}
}

static void
early_request_costs_nothing(void **state)
{
	struct bucket b = { 0 };
	uint64_t next = 0;

	(void)state;
	take_all_tokens(&b, START);
	for (int i = 0; i < 1000; i++)
		assert_false(bucket_take(&b, START + 1, &next));
	assert_int_equal(next, START + BUCKET_EACH_US);
	assert_true(bucket_take(&b, next, &next));
}

static void
bucket_does_not_overflow(void **state)
{
	struct bucket b = { 0 };
	uint64_t later = START + 5 * BUCKET_EACH_US, next = 0;

	(void)state;
	take_all_tokens(&b, START);
	for (int i = 0; i < 5; i++)
		assert_true(bucket_take(&b, later, &next));
	assert_false(bucket_take(&b, later, &next));
	later += UINT64_C(1000) * BUCKET_TOKENS * BUCKET_EACH_US;
	take_all_tokens(&b, later);
	assert_false(bucket_take(&b, later, &next));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_bucket_is_full),
		cmocka_unit_test(empty_bucket_gives_one_token_per_interval),
		cmocka_unit_test(early_request_costs_nothing),
		cmocka_unit_test(bucket_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
