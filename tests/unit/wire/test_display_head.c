/* display_head: what goes before the bytes of a value or a display. */
#include "wire/display_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "wire/record.h"

#include <cmocka.h>

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
a_head_names_its_parts_in_order(void **state)
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
a_value_may_have_no_parts(void **state)
{
	struct display_head h;

	(void)state;
	assert_int_equal(read_it(&h, VALUE, sizeof(VALUE) - 1), 0);
	assert_int_equal(h.kind, DISPLAY_VALUE);
	assert_int_equal(h.part_count, 0);
	assert_int_equal(h.total_bytes, 0);
}

static void
anything_else_breaks_the_protocol(void **state)
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
there_are_so_many_parts_and_their_names_are_so_long(void **state)
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
		cmocka_unit_test(a_head_names_its_parts_in_order),
		cmocka_unit_test(a_value_may_have_no_parts),
		cmocka_unit_test(anything_else_breaks_the_protocol),
		cmocka_unit_test(
			there_are_so_many_parts_and_their_names_are_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
