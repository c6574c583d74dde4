/* record: key NUL value NUL, and nothing else. */
#include "wire/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

static void
records_are_read_as_they_were_written(void **state)
{
	static const char *const texts[][2] = {
		{ "name", "main.py" }, { "empty", "" },
		{ "", "keyless" },     { "", "" },
		{ "name", "again" },   { "bytes", "\x01\xff" },
	};
	own(buf) struct buf b = BUF_INIT(1000);
	struct remit_error err;
	struct record r;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(record_add(&b, texts[i][0], texts[i][1]), 0);
	assert_int_equal(record_check(b.data, b.len, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_true(record_next(b.data, b.len, &at, &r));
		assert_string_equal(r.key, texts[i][0]);
		assert_string_equal(r.value, texts[i][1]);
	}
	assert_false(record_next(b.data, b.len, &at, &r));
	assert_int_equal(at, b.len);
}

static void
a_record_on_the_wire_is_two_texts_with_their_nul(void **state)
{
	own(buf) struct buf b = BUF_INIT(5);

	(void)state;
	assert_int_equal(record_add(&b, "k", "vv"), 0);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "k\0vv\0", 5);
}

static void
a_record_beyond_the_cap_is_an_error(void **state)
{
	own(buf) struct buf b = BUF_INIT(4);

	(void)state;
	errno = 0;
	assert_int_equal(record_add(&b, "k", "vv"), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(record_add(&b, "longkey", ""), -1);
}

static void
no_records_at_all_are_fine(void **state)
{
	struct remit_error err;
	struct record r;
	size_t at = 0;

	(void)state;
	assert_int_equal(record_check("", 0, &err), 0);
	assert_int_equal(record_check(NULL, 0, &err), 0);
	assert_false(record_next("", 0, &at, &r));
}

static void
records_without_their_end_break_the_protocol(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ BYTES("a") },	      { BYTES("a\0") },
		{ BYTES("\0") },      { BYTES("a\0b") },
		{ BYTES("a\0b\0c") }, { BYTES("a\0b\0c\0") },
		{ BYTES("\0\0\0") },  { BYTES("a\0b\0c\0d") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct remit_error err = { 0 };

		if (record_check(rows[i].bytes, rows[i].len, &err) == 0)
			fail_msg("row %zu was taken", i);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_as_they_were_written),
		cmocka_unit_test(
			a_record_on_the_wire_is_two_texts_with_their_nul),
		cmocka_unit_test(a_record_beyond_the_cap_is_an_error),
		cmocka_unit_test(no_records_at_all_are_fine),
		cmocka_unit_test(records_without_their_end_break_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
