/* file_head: what goes before the bytes of a file. */
#include "wire/file_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
what_was_written_is_read(void **state)
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
anything_else_breaks_the_protocol(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(anything_else_breaks_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
