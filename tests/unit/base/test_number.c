/* number: numbers in text, and sums that stop at the largest number. */
#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
digits_are_read_up_to_the_largest_number(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {
		{ "0", 0 },
		{ "7", 7 },
		{ "0010", 10 },
		{ "4294967296", UINT64_C(4294967296) },
		{ "18446744073709551615", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t n = 4711;

		assert_int_equal(number_parse(&n, rows[i].text), 0);
		assert_true(n == rows[i].value);
	}
}

static void
anything_but_digits_is_refused_and_changes_nothing(void **state)
{
	static const char *const rows[] = {
		"",	" 1",
		"1 ",	"+1",
		"-1",	"1.0",
		"0x10", "1e3",
		"1a",	"18446744073709551616",
		"\n1",	"99999999999999999999999",
		"1:",	"1/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t n = 4711;

		if (number_parse(&n, rows[i]) != -1)
			fail_msg("\"%s\" was taken", rows[i]);
		assert_int_equal(n, 4711);
	}
}

static void
hexadecimal_digits_are_converted(void **state)
{
	static const char digits[] = "0123456789abcdef";

	(void)state;
	for (int c = -128; c < 128; c++) {
		int small = c >= 'A' && c <= 'F' ? c | 0x20 : c;
		const char *at = c ? strchr(digits, small) : NULL;

		assert_int_equal(number_hex_digit((char)c),
				 at ? at - digits : -1);
	}
}

static void
sums_and_products_stop_at_the_largest_number(void **state)
{
	(void)state;
	assert_true(number_add(2, 3) == 5);
	assert_true(number_add(UINT64_MAX, 0) == UINT64_MAX);
	assert_true(number_add(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(number_add(512 << 20, UINT64_MAX) == UINT64_MAX);
	assert_true(number_add(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_true(number_mul(8, 512) == 4096);
	assert_true(number_mul(0, UINT64_MAX) == 0);
	assert_true(number_mul(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(number_mul(8, UINT64_MAX) == UINT64_MAX);
	assert_true(number_mul(UINT64_C(1) << 32, UINT64_C(1) << 32) ==
		    UINT64_MAX);
}

static void
reals_become_whole_numbers_that_fit(void **state)
{
	(void)state;
	assert_true(number_whole(0) == 0 && number_whole(0.999) == 0);
	assert_true(number_whole(1) == 1 && number_whole(1.999) == 1);
	assert_true(number_whole(-1) == 0 && number_whole(-1e300) == 0);
	assert_true(number_whole(0x1p63) == UINT64_C(1) << 63);
	assert_true(number_whole(0x1p64) == UINT64_MAX);
	assert_true(number_whole(1e300) == UINT64_MAX);
	assert_true(number_whole(__builtin_inf()) == UINT64_MAX);
	assert_true(number_whole(__builtin_nan("")) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_are_read_up_to_the_largest_number),
		cmocka_unit_test(
			anything_but_digits_is_refused_and_changes_nothing),
		cmocka_unit_test(hexadecimal_digits_are_converted),
		cmocka_unit_test(sums_and_products_stop_at_the_largest_number),
		cmocka_unit_test(reals_become_whole_numbers_that_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
