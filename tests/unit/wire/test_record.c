/* record: key NUL value NUL, and nothing else; and the heads made of them. */
#include "wire/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

static void
records_are_read_as_written(void **state)
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
record_is_two_strings_with_nul(void **state)
{
	own(buf) struct buf b = BUF_INIT(5);

	(void)state;
	assert_int_equal(record_add(&b, "k", "vv"), 0);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "k\0vv\0", 5);
}

static void
record_beyond_the_cap_is_an_error(void **state)
{
	own(buf) struct buf b = BUF_INIT(4);

	(void)state;
	errno = 0;
	assert_int_equal(record_add(&b, "k", "vv"), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(record_add(&b, "longkey", ""), -1);
}

static void
empty_payload_is_valid(void **state)
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
incomplete_records_break_the_protocol(void **state)
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

/* ---- files ---- */

static void
file_head_is_read_as_written(void **state)
{
	own(buf) struct buf b = BUF_INIT(1024);
	const struct file_head out = { "out/a\nb.csv", UINT64_MAX };
	struct remit_error err;
	struct file_head in;

	(void)state;
	assert_int_equal(file_head_write(&b, &out), 0);
	assert_int_equal(file_head_read(&in, b.data, b.len, &err), 0);
	assert_string_equal(in.path, out.path);
	assert_true(in.size_bytes == UINT64_MAX);
}

static void
malformed_file_head_breaks_the_protocol(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "", 0 },
		{ "path\0a\0", 7 },
		{ "size\0"
		  "1\0",
		  7 },
		{ "size\0"
		  "1\0path\0a\0",
		  14 },
		{ "path\0a\0size\0"
		  "1",
		  13 },
		{ "path\0a\0size\0x\0", 14 },
		{ "path\0a\0size\0-1\0", 15 },
		{ "path\0a\0size\0"
		  "1\0more\0x\0",
		  21 },
		{ "path\0a\0size\0"
		  "99999999999999999999\0",
		  33 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct remit_error err;
		struct file_head h;

		assert_int_equal(
			file_head_read(&h, bad[i].bytes, bad[i].len, &err), -1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	}
}

/* ---- displays ---- */

#define VALUE "kind\0value\0"
#define PART  "mime\0text/plain\0bytes\0003\0"

static int
read_it(struct display_head *h, const char *bytes, size_t len)
{
	struct remit_error err = { 0 };
	int failed = display_head_read(h, bytes, len, &err);

	if (failed)
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	return failed;
}

static void
display_head_lists_parts_in_sequence(void **state)
{
	static const char bytes[] = "kind\0display\0truncated\0yes\0" PART
				    "mime\0image/svg+xml\0bytes\000100\0"
				    "left_out\0text/html\0reason\0too long\0";
	struct display_head h;

	(void)state;
	assert_int_equal(read_it(&h, bytes, sizeof(bytes) - 1), 0);
	assert_int_equal(h.kind, DISPLAY_SHOWN);
	assert_true(h.truncated);
	assert_int_equal(h.part_count, 2);
	assert_string_equal(h.parts[1].mime, "image/svg+xml");
	assert_int_equal(h.parts[1].bytes, 100);
	assert_int_equal(h.total_bytes, 103);
	assert_int_equal(h.gap_count, 1);
	assert_string_equal(h.gaps[0].mime, "text/html");
	assert_string_equal(h.gaps[0].reason, "too long");
}

static void
value_may_have_no_parts(void **state)
{
	struct display_head h;

	(void)state;
	assert_int_equal(read_it(&h, VALUE, sizeof(VALUE) - 1), 0);
	assert_int_equal(h.kind, DISPLAY_VALUE);
	assert_int_equal(h.part_count, 0);
	assert_int_equal(h.total_bytes, 0);
}

static void
malformed_display_head_breaks_the_protocol(void **state)
{
#define BAD(text) { (text), sizeof(text) - 1 }
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "", 0 },
		BAD("kind\0other\0"),
		BAD(PART),
		BAD(VALUE "mime\0text/plain\0"),
		BAD(VALUE "bytes\0003\0mime\0text/plain\0"),
		BAD(VALUE "mime\0text\0bytes\0003\0"),
		BAD(VALUE "mime\0/plain\0bytes\0003\0"),
		BAD(VALUE "mime\0text/\0bytes\0003\0"),
		BAD(VALUE "mime\0text/a b\0bytes\0003\0"),
		BAD(VALUE "mime\0text/a\"b\0bytes\0003\0"),
		BAD(VALUE "mime\0text/a/b\0bytes\0003\0"),
		BAD(VALUE "mime\0text/plain\0bytes\0-1\0"),
		BAD(VALUE "mime\0text/plain\0bytes\0"
			  "18446744073709551615\0"),
		BAD(VALUE PART PART),
		BAD(VALUE "left_out\0a/b\0why\0x\0"),
		BAD(VALUE "other\0a\0b\0c\0"),
		BAD(VALUE "mime\0text/plain\0bytes\0003"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct display_head h;

		if (read_it(&h, bad[i].bytes, bad[i].len) == 0)
			fail_msg("row %zu was taken", i);
	}
}

static int
with_parts(size_t count, const char *long_mime)
{
	own(buf) struct buf b = BUF_INIT(1 << 20);
	struct display_head h;
	char mime[32];

	assert_int_equal(record_add(&b, "kind", "value"), 0);
	for (size_t i = 0; i < count; i++) {
		snprintf(mime, sizeof(mime), "text/x%zu", i);
		assert_int_equal(
			record_add(&b, "mime", long_mime ? long_mime : mime),
			0);
		assert_int_equal(record_add(&b, "bytes", "1099511627776"), 0);
	}
	return read_it(&h, b.data, b.len);
}

static void
parts_and_their_names_are_bounded(void **state)
{
	char mime[200];

	(void)state;
	assert_int_equal(with_parts(DISPLAY_PARTS, NULL), 0);
	assert_int_equal(with_parts(DISPLAY_PARTS + 1, NULL), -1);
	memset(mime, 'x', sizeof(mime));
	memcpy(mime, "text/", 5);
	mime[120] = '\0';
	assert_int_equal(with_parts(1, mime), 0);
	mime[120] = 'x';
	mime[121] = '\0';
	assert_int_equal(with_parts(1, mime), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_as_written),
		cmocka_unit_test(record_is_two_strings_with_nul),
		cmocka_unit_test(record_beyond_the_cap_is_an_error),
		cmocka_unit_test(empty_payload_is_valid),
		cmocka_unit_test(incomplete_records_break_the_protocol),
		cmocka_unit_test(file_head_is_read_as_written),
		cmocka_unit_test(malformed_file_head_breaks_the_protocol),
		cmocka_unit_test(display_head_lists_parts_in_sequence),
		cmocka_unit_test(value_may_have_no_parts),
		cmocka_unit_test(malformed_display_head_breaks_the_protocol),
		cmocka_unit_test(parts_and_their_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
