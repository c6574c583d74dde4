/* batch_result: results wait for those before them, within bounds. */
#include "cli/batch/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct batch_result
result_of(size_t len)
{
	struct batch_result r = { .line = BUF_INIT(len) };
	own_mem char *bytes = calloc(1, len);

	assert_non_null(bytes);
	assert_int_equal(buf_add(&r.line, bytes, len), 0);
	return r;
}

static void
put(struct batch_sequence *o, uint64_t sequence, size_t len)
{
	struct batch_result r = result_of(len);

	batch_sequence_put(o, sequence, &r);
	assert_null(r.line.data);
}

/* The length of the next one, or 0. */
static size_t
taken(struct batch_sequence *o)
{
	struct batch_result r;
	size_t len;

	if (!batch_sequence_take(o, &r))
		return 0;
	len = r.line.len;
	batch_result_free(&r);
	return len;
}

static void
results_leave_in_order_round_and_round(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 3), 0);
	for (uint64_t round = 0; round < 5; round++) {
		put(&o, 3 * round + 2, 30);
		assert_int_equal(taken(&o), 0);
		put(&o, 3 * round, 10);
		assert_int_equal(taken(&o), 10);
		assert_int_equal(taken(&o), 0);
		put(&o, 3 * round + 1, 20);
		assert_int_equal(taken(&o), 20);
		assert_int_equal(taken(&o), 30);
		assert_int_equal(taken(&o), 0);
		assert_int_equal(o.bytes, 0);
	}
}

static void
so_many_may_be_ahead_of_the_first(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 3), 0);
	assert_true(batch_sequence_has_room(&o, 2));
	assert_false(batch_sequence_has_room(&o, 3));
	put(&o, 2, 1);
	put(&o, 1, 1);
	assert_false(batch_sequence_has_room(&o, 3));
	put(&o, 0, 1);
	assert_int_equal(taken(&o), 1);
	assert_true(batch_sequence_has_room(&o, 3));
	assert_false(batch_sequence_has_room(&o, 4));
}

static void
so_large_may_be_what_waits_but_the_first_always_goes(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 8), 0);
	put(&o, 1, (size_t)40 << 20);
	assert_true(batch_sequence_has_room(&o, 2));
	put(&o, 2, (size_t)40 << 20);
	assert_false(batch_sequence_has_room(&o, 3));
	assert_true(batch_sequence_has_room(&o, 0));
	put(&o, 0, 1);
	assert_int_equal(taken(&o), 1);
	assert_int_equal(taken(&o), (size_t)40 << 20);
	assert_true(batch_sequence_has_room(&o, 3));
}

static void
without_an_order_they_leave_as_they_come(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 0), 0);
	assert_true(batch_sequence_has_room(&o, 1000000));
	put(&o, 5, 50);
	assert_int_equal(taken(&o), 50);
	put(&o, 0, 10);
	assert_int_equal(taken(&o), 10);
	assert_int_equal(taken(&o), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_leave_in_order_round_and_round),
		cmocka_unit_test(so_many_may_be_ahead_of_the_first),
		cmocka_unit_test(
			so_large_may_be_what_waits_but_the_first_always_goes),
		cmocka_unit_test(without_an_order_they_leave_as_they_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
