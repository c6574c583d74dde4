/* batch_result: results wait for earlier ones, within limits. */
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
put_result(struct batch_sequence *o, uint64_t sequence, size_t len)
{
	struct batch_result r = result_of(len);

	batch_sequence_put(o, sequence, &r);
	assert_null(r.line.data);
}

/* Pop the next result and return the length of its line, or 0. */
static size_t
next_length(struct batch_sequence *o)
{
	struct batch_result r;
	size_t len;

	if (!batch_sequence_pop(o, &r))
		return 0;
	len = r.line.len;
	batch_result_free(&r);
	return len;
}

static void
results_leave_in_job_order_after_wraparound(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 3), 0);
	for (uint64_t round = 0; round < 5; round++) {
		put_result(&o, 3 * round + 2, 30);
		assert_int_equal(next_length(&o), 0);
		put_result(&o, 3 * round, 10);
		assert_int_equal(next_length(&o), 10);
		assert_int_equal(next_length(&o), 0);
		put_result(&o, 3 * round + 1, 20);
		assert_int_equal(next_length(&o), 20);
		assert_int_equal(next_length(&o), 30);
		assert_int_equal(next_length(&o), 0);
		assert_int_equal(o.bytes, 0);
	}
}

static void
sequence_limits_how_many_results_may_wait(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 3), 0);
	assert_true(batch_sequence_has_space(&o, 2));
	assert_false(batch_sequence_has_space(&o, 3));
	put_result(&o, 2, 1);
	put_result(&o, 1, 1);
	assert_false(batch_sequence_has_space(&o, 3));
	put_result(&o, 0, 1);
	assert_int_equal(next_length(&o), 1);
	assert_true(batch_sequence_has_space(&o, 3));
	assert_false(batch_sequence_has_space(&o, 4));
}

static void
sequence_limits_waiting_bytes_but_never_blocks_the_first(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 8), 0);
	put_result(&o, 1, (size_t)40 << 20);
	assert_true(batch_sequence_has_space(&o, 2));
	put_result(&o, 2, (size_t)40 << 20);
	assert_false(batch_sequence_has_space(&o, 3));
	assert_true(batch_sequence_has_space(&o, 0));
	put_result(&o, 0, 1);
	assert_int_equal(next_length(&o), 1);
	assert_int_equal(next_length(&o), (size_t)40 << 20);
	assert_true(batch_sequence_has_space(&o, 3));
}

static void
unordered_results_leave_as_they_arrive(void **state)
{
	own(batch_sequence) struct batch_sequence o;

	(void)state;
	assert_int_equal(batch_sequence_init(&o, 0), 0);
	assert_true(batch_sequence_has_space(&o, 1000000));
	put_result(&o, 5, 50);
	assert_int_equal(next_length(&o), 50);
	put_result(&o, 0, 10);
	assert_int_equal(next_length(&o), 10);
	assert_int_equal(next_length(&o), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_leave_in_job_order_after_wraparound),
		cmocka_unit_test(sequence_limits_how_many_results_may_wait),
		cmocka_unit_test(
			sequence_limits_waiting_bytes_but_never_blocks_the_first),
		cmocka_unit_test(unordered_results_leave_as_they_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
