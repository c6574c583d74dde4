/* buf: bytes up to a cap. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
fresh_buffer_is_the_empty_text(void **state)
{
	own(buf) struct buf b = BUF_INIT(8);

	(void)state;
	assert_string_equal(buf_text(&b), "");
	buf_drop(&b, 3);
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.len, 0);
}

static void
bytes_are_appended_and_end_in_nul(void **state)
{
	own(buf) struct buf b = BUF_INIT(64);

	(void)state;
	assert_int_equal(buf_add(&b, "ab", 2), 0);
	assert_int_equal(buf_add(&b, "\0c", 2), 0);
	assert_int_equal(buf_addf(&b, "%d", 42), 0);
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.data, "ab\0c42", 7);
}

static void
adding_zero_bytes_succeeds(void **state)
{
	own(buf) struct buf b = BUF_INIT(0);

	(void)state;
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	assert_int_equal(buf_addf(&b, "%s", ""), 0);
	assert_int_equal(b.len, 0);
	assert_string_equal(buf_text(&b), "");
}

static void
the_cap_can_be_reached_but_not_passed(void **state)
{
	own(buf) struct buf b = BUF_INIT(10);

	(void)state;
	assert_int_equal(buf_add(&b, "0123456789", 10), 0);
	errno = 0;
	assert_int_equal(buf_add(&b, "x", 1), -1);
	assert_int_equal(errno, EFBIG);
	errno = 0;
	assert_int_equal(buf_addf(&b, "%c", 'x'), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(b.len, 10);
	assert_string_equal(b.data, "0123456789");
}

static void
a_refused_addition_adds_nothing_at_all(void **state)
{
	own(buf) struct buf b = BUF_INIT(4);

	(void)state;
	assert_int_equal(buf_add(&b, "ab", 2), 0);
	assert_int_equal(buf_add(&b, "cde", 3), -1);
	assert_int_equal(buf_addf(&b, "%s", "cde"), -1);
	assert_int_equal(b.len, 2);
	assert_string_equal(b.data, "ab");
	assert_int_equal(buf_add(&b, "cd", 2), 0);
	assert_string_equal(b.data, "abcd");
}

static void
a_length_near_the_largest_number_does_not_wrap_around(void **state)
{
	own(buf) struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(buf_add(&b, "abc", 3), 0);
	assert_int_equal(buf_add(&b, "x", SIZE_MAX), -1);
	assert_int_equal(buf_add(&b, "x", SIZE_MAX - 2), -1);
	assert_int_equal(b.len, 3);
}

static void
growth_keeps_every_byte_and_stays_within_the_cap(void **state)
{
	own(buf) struct buf b = BUF_INIT(10007);

	(void)state;
	for (size_t i = 0; i < 10007; i++) {
		char c = (char)(i * 7);

		assert_int_equal(buf_add(&b, &c, 1), 0);
		assert_int_equal(b.data[b.len], '\0');
		assert_true(b.allocated > b.len);
		assert_true(b.allocated <= b.cap + 1);
	}
	for (size_t i = 0; i < 10007; i++)
		assert_int_equal(b.data[i], (char)(i * 7));
}

static void
formatted_text_longer_than_the_allocation_is_complete(void **state)
{
	own(buf) struct buf b = BUF_INIT(5000);
	char text[3001];

	(void)state;
	memset(text, 'y', 3000);
	text[3000] = '\0';
	assert_int_equal(buf_addf(&b, "<%s>", text), 0);
	assert_int_equal(b.len, 3002);
	assert_memory_equal(b.data + 1, text, 3000);
	assert_string_equal(b.data + 3001, ">");
}

static void
dropped_bytes_are_the_first(void **state)
{
	own(buf) struct buf b = BUF_INIT(64);

	(void)state;
	assert_int_equal(buf_add(&b, "abcdef", 6), 0);
	buf_drop(&b, 0);
	assert_string_equal(buf_text(&b), "abcdef");
	buf_drop(&b, 2);
	assert_int_equal(b.len, 4);
	assert_string_equal(buf_text(&b), "cdef");
}

static void
fully_dropped_buffer_is_the_empty_text(void **state)
{
	static const size_t amounts[] = { 6, 7, SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		own(buf) struct buf b = BUF_INIT(64);

		assert_int_equal(buf_add(&b, "abcdef", 6), 0);
		buf_drop(&b, amounts[i]);
		assert_int_equal(b.len, 0);
		assert_string_equal(buf_text(&b), "");
	}
}

static void
a_freed_buffer_keeps_its_cap_and_can_be_used_again(void **state)
{
	own(buf) struct buf b = BUF_INIT(3);

	(void)state;
	assert_int_equal(buf_add(&b, "abc", 3), 0);
	buf_free(&b);
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(buf_add(&b, "abcd", 4), -1);
	assert_int_equal(buf_add(&b, "xyz", 3), 0);
	assert_string_equal(buf_text(&b), "xyz");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_buffer_is_the_empty_text),
		cmocka_unit_test(bytes_are_appended_and_end_in_nul),
		cmocka_unit_test(adding_zero_bytes_succeeds),
		cmocka_unit_test(the_cap_can_be_reached_but_not_passed),
		cmocka_unit_test(a_refused_addition_adds_nothing_at_all),
		cmocka_unit_test(
			a_length_near_the_largest_number_does_not_wrap_around),
		cmocka_unit_test(
			growth_keeps_every_byte_and_stays_within_the_cap),
		cmocka_unit_test(
			formatted_text_longer_than_the_allocation_is_complete),
		cmocka_unit_test(dropped_bytes_are_the_first),
		cmocka_unit_test(fully_dropped_buffer_is_the_empty_text),
		cmocka_unit_test(
			a_freed_buffer_keeps_its_cap_and_can_be_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
