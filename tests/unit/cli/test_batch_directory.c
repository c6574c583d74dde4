/* batch_directory: names of directories for untrusted ids. */
#include "cli/batch/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"

#include <cmocka.h>

static const struct row {
	const char *id;
	const char *name;
} rows[] = {
	{ "7", "7" },
	{ "-7", "%n7" },
	{ "\"7\"", "%37" },
	{ "\"-7\"", "%2D7" },
	{ "\"n7\"", "n7" },
	{ "\"%n7\"", "%25n7" },
	{ "\"%37\"", "%2537" },
	{ "\"job_1-a.b\"", "job_1-a.b" },
	{ "\"\"", "%" },
	{ "\"%\"", "%25" },
	{ "\".\"", "%2E" },
	{ "\"..\"", "%2E." },
	{ "\"../../etc\"", "%2E.%2F..%2Fetc" },
	{ "\"/etc\"", "%2Fetc" },
	{ "\"a/b\"", "a%2Fb" },
	{ "\"-rf\"", "%2Drf" },
	{ "\"a b\"", "a%20b" },
	{ "\"a\\n\\u001b\"", "a%0A%1B" },
	{ "\"\xc3\xa4\"", "%C3%A4" },
};

static void
ids_get_plain_and_distinct_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[BATCH_DIRECTORY_NAME];

		assert_int_equal(batch_directory_name(rows[i].id, name), 0);
		assert_string_equal(name, rows[i].name);
		assert_true(plain_name(name));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(rows[i].name, rows[k].name);
	}
}

/* Make an id of `len` equal characters and a different last one. */
static void
name_long(const char *unit, size_t times, char last,
	  char out[BATCH_DIRECTORY_NAME])
{
	own(buf) struct buf id = BUF_INIT(4096);

	assert_int_equal(buf_addf(&id, "\""), 0);
	for (size_t i = 0; i < times; i++)
		assert_int_equal(buf_addf(&id, "%s", unit), 0);
	assert_int_equal(buf_addf(&id, "%c\"", last), 0);
	assert_int_equal(batch_directory_name(buf_text(&id), out), 0);
	assert_true(plain_name(out));
}

static void
long_ids_with_equal_beginnings_get_different_names(void **state)
{
	char one[BATCH_DIRECTORY_NAME], other[BATCH_DIRECTORY_NAME];

	(void)state;
	name_long("a", 254, 'x', one);
	assert_int_equal(strlen(one), 255);
	assert_null(strchr(one, '%'));
	name_long("a", 255, 'x', one);
	name_long("a", 255, 'y', other);
	assert_string_not_equal(one, other);
	assert_non_null(strstr(one, "%%"));
	name_long("/", 255, 'x', one);
	name_long("/", 255, 'y', other);
	assert_string_not_equal(one, other);
}

static void
invalid_ids_get_no_name(void **state)
{
	char name[BATCH_DIRECTORY_NAME];

	(void)state;
	assert_int_equal(batch_directory_name("null", name), -1);
	assert_int_equal(batch_directory_name("[]", name), -1);
	assert_int_equal(batch_directory_name("", name), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_get_plain_and_distinct_names),
		cmocka_unit_test(
			long_ids_with_equal_beginnings_get_different_names),
		cmocka_unit_test(invalid_ids_get_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
