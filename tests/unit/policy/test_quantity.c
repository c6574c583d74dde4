/* quantity: valid and invalid sizes, times and counts. */
#include "policy/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* After the headers that declare fail(), which cmocka makes a macro. */
#include <cmocka.h>

typedef int parse_fn(const char *, uint64_t *, struct remit_error *);

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	const char *words; /* in the message */
};

static void
takes(parse_fn *parse, const struct good *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct remit_error err = { 0 };
		uint64_t value = 0;

		if (parse(rows[i].text, &value, &err) < 0)
			fail_msg("\"%s\": %s", rows[i].text, err.message);
		if (value != rows[i].value)
			fail_msg("\"%s\" became %llu", rows[i].text,
				 (unsigned long long)value);
	}
}

static void
refuses(parse_fn *parse, const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct remit_error err = { 0 };
		uint64_t value = 4711;

		if (parse(rows[i].text, &value, &err) == 0)
			fail_msg("\"%s\" was taken", rows[i].text);
		if (!strstr(err.message, rows[i].words))
			fail_msg("\"%s\": %s", rows[i].text, err.message);
		assert_int_equal(err.code, REMIT_E_INPUT);
		assert_int_equal(value, 4711);
	}
}

static void
sizes_are_binary_in_any_case_with_or_without_ib(void **state)
{
	static const struct good rows[] = {
		{ "1", 1 },
		{ "4096", 4096 },
		{ "4096B", 4096 },
		{ "100k", 102400 },
		{ "100K", 102400 },
		{ "100kb", 102400 },
		{ "100KiB", 102400 },
		{ "512M", 536870912 },
		{ "512m", 536870912 },
		{ "512MB", 536870912 },
		{ "512MiB", 536870912 },
		{ "512mib", 536870912 },
		{ "1G", 1073741824 },
		{ "1gib", 1073741824 },
		{ "1T", UINT64_C(1099511627776) },
		{ "007", 7 },
	};

	(void)state;
	takes(quantity_bytes, rows, ARRAY_LEN(rows));
}

static void
fractions_of_a_size_are_exact(void **state)
{
	static const struct good rows[] = {
		{ "1.5G", 1610612736 },
		{ "0.5k", 512 },
		{ "1.0", 1 },
		{ "2.000000000000000000000", 2 },
		{ "0.000976562500T", 1073741824 },
	};

	(void)state;
	takes(quantity_bytes, rows, ARRAY_LEN(rows));
}

static void
malformed_size_is_an_error(void **state)
{
	static const struct bad rows[] = {
		{ "", "empty text is not a size" },
		{ " 1M", "is not a size" },
		{ "1M ", "is not a size" },
		{ "1 M", "is not a size" },
		{ "\t1", "is not a size" },
		{ "1\n", "is not a size" },
		{ "0", "zero is never a limit" },
		{ "0M", "zero is never a limit" },
		{ "0.0", "zero is never a limit" },
		{ "-1", "is negative" },
		{ "-0", "is negative" },
		{ "-512M", "is negative" },
		{ "+1", "is not a size" },
		{ "-", "is not a size" },
		{ "1e3", "is not a size" },
		{ "0x10", "is not a size" },
		{ "NaN", "is not a size" },
		{ "inf", "is not a size" },
		{ "unlimited", "is not a size" },
		{ "M", "is not a size" },
		{ ".5M", "is not a size" },
		{ "5.M", "is not a size" },
		{ "1.5.5M", "is not a size" },
		{ "1,5M", "is not a size" },
		{ "1P", "is not a size" },
		{ "1Mi", "is not a size" },
		{ "1ms", "is not a size" },
		{ "1.5", "is not a whole number of bytes" },
		{ "1.1G", "is not a whole number of bytes" },
		{ "0.00000000001T", "is not a whole number of bytes" },
	};

	(void)state;
	refuses(quantity_bytes, rows, ARRAY_LEN(rows));
}

static void
a_size_that_overflows_is_an_error(void **state)
{
	static const struct bad rows[] = {
		{ "18446744073709551615", "too large" },
		{ "18446744073709551616", "too large" },
		{ "99999999999999999999999999999999", "too large" },
		{ "16777216T", "too large" },
		{ "18014398509481984K", "too large" },
	};
	static const struct good most[] = {
		{ "18446744073709551614", UINT64_MAX - 1 },
		{ "16777215T", UINT64_C(16777215) << 40 },
	};

	(void)state;
	refuses(quantity_bytes, rows, ARRAY_LEN(rows));
	takes(quantity_bytes, most, ARRAY_LEN(most));
}

static void
times_are_seconds_unless_a_unit_is_given(void **state)
{
	static const struct good rows[] = {
		{ "30", 30000 },     { "30s", 30000 },	   { "1.5s", 1500 },
		{ "1.5", 1500 },     { "0.001", 1 },	   { "0.1", 100 },
		{ "0.3", 300 },	     { "200ms", 200 },	   { "2m", 120000 },
		{ "0.5m", 30000 },   { "1h", 3600000 },	   { "1.1s", 1100 },
		{ "24h", 86400000 }, { "16.683s", 16683 },
	};

	(void)state;
	takes(quantity_time, rows, ARRAY_LEN(rows));
}

static void
malformed_time_is_an_error(void **state)
{
	static const struct bad rows[] = {
		{ "", "empty text is not a time" },
		{ "0", "zero is never a limit" },
		{ "0ms", "zero is never a limit" },
		{ "-1s", "is negative" },
		{ "1e3", "is not a time" },
		{ "NaN", "is not a time" },
		{ " 1s", "is not a time" },
		{ "1s ", "is not a time" },
		{ "1S", "is not a time" },
		{ "1M", "is not a time" },
		{ "1d", "is not a time" },
		{ "1h30m", "is not a time" },
		{ "1.5ms", "finer than a millisecond" },
		{ "0.0005", "finer than a millisecond" },
		{ "1.0000000000001s", "finer than a millisecond" },
		{ "18446744073709551615", "too large" },
		{ "5124095576030432h", "too large" },
	};

	(void)state;
	refuses(quantity_time, rows, ARRAY_LEN(rows));
}

static void
counts_are_whole_numbers(void **state)
{
	static const struct good good[] = { { "1", 1 }, { "32768", 32768 } };
	static const struct bad bad[] = {
		{ "", "empty text is not a count" },
		{ "0", "zero is never a limit" },
		{ "-3", "is negative" },
		{ "1.5", "is not a whole number" },
		{ "1k", "is not a count" },
		{ "1e3", "is not a count" },
		{ "ten", "is not a count" },
	};

	(void)state;
	takes(quantity_count, good, ARRAY_LEN(good));
	refuses(quantity_count, bad, ARRAY_LEN(bad));
}

static void
sizes_are_shown_in_the_largest_exact_unit(void **state)
{
	static const struct good rows[] = {
		{ "1 byte", 1 },
		{ "1000 bytes", 1000 },
		{ "1 KiB", 1024 },
		{ "1025 bytes", 1025 },
		{ "512 MiB", 536870912 },
		{ "1536 MiB", 1610612736 },
		{ "1 TiB", UINT64_C(1) << 40 },
		{ "18446744073709551615 bytes", UINT64_MAX },
	};
	char out[QUANTITY_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		quantity_show_bytes(rows[i].value, out, sizeof(out));
		assert_string_equal(out, rows[i].text);
	}
}

static void
times_are_shown_exactly(void **state)
{
	static const struct good rows[] = {
		{ "1 ms", 1 },
		{ "200 ms", 200 },
		{ "1 s", 1000 },
		{ "1.5 s", 1500 },
		{ "1.005 s", 1005 },
		{ "90 s", 90000 },
		{ "2 min", 120000 },
		{ "24 h", 86400000 },
		{ "18446744073709551.615 s", UINT64_MAX },
	};
	char out[QUANTITY_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		quantity_show_time(rows[i].value, out, sizeof(out));
		assert_string_equal(out, rows[i].text);
	}
}

static void
quantity_message_has_no_control_characters_and_is_bounded(void **state)
{
	struct remit_error err;
	char long_text[5000];
	uint64_t value;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_int_equal(quantity_bytes(long_text, &value, &err), -1);
	assert_non_null(strstr(err.message, "xxx...\" is not a size"));
	assert_true(strlen(err.message) < 300);
	assert_int_equal(quantity_bytes("\033[2J", &value, &err), -1);
	assert_non_null(strstr(err.message, "\"?[2J\" is not a size"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			sizes_are_binary_in_any_case_with_or_without_ib),
		cmocka_unit_test(fractions_of_a_size_are_exact),
		cmocka_unit_test(malformed_size_is_an_error),
		cmocka_unit_test(a_size_that_overflows_is_an_error),
		cmocka_unit_test(times_are_seconds_unless_a_unit_is_given),
		cmocka_unit_test(malformed_time_is_an_error),
		cmocka_unit_test(counts_are_whole_numbers),
		cmocka_unit_test(sizes_are_shown_in_the_largest_exact_unit),
		cmocka_unit_test(times_are_shown_exactly),
		cmocka_unit_test(
			quantity_message_has_no_control_characters_and_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
