/* json_place: the lines of keys. */
#include "base/own.h"
#include "policy/json_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned
line_of(const char *text, const char *key)
{
	return json_place_line(text, strlen(text), key);
}

static void
a_key_is_found_on_its_line(void **state)
{
	static const char text[] = "{\n"
				   "\t\"a\": 1,\n"
				   "\t\"b\": [1, 2],\n"
				   "\n"
				   "\t\"c\" : {\"d\": 1}, \"e\": null\n"
				   "}\n";

	(void)state;
	assert_int_equal(line_of(text, "a"), 2);
	assert_int_equal(line_of(text, "b"), 3);
	assert_int_equal(line_of(text, "c"), 5);
	assert_int_equal(line_of(text, "e"), 5);
	assert_int_equal(line_of("{\"a\":1}", "a"), 1);
}

static void
missing_key_has_no_line(void **state)
{
	(void)state;
	assert_int_equal(line_of("{\n\"a\": 1}", "b"), 0);
	assert_int_equal(line_of("{\n\"a\": 1}", ""), 0);
	assert_int_equal(line_of("{}", "a"), 0);
	assert_int_equal(line_of("", "a"), 0);
}

static void
only_keys_of_the_outermost_object_count(void **state)
{
	static const char text[] = "{\n\"x\": {\"a\": 1},\n"
				   "\"y\": [{\"a\": 1}],\n\"a\": 1}";

	(void)state;
	assert_int_equal(line_of(text, "a"), 4);
	assert_int_equal(line_of("{\"x\": {\"a\": 1}}", "a"), 0);
}

static void
a_value_that_looks_like_a_key_does_not_count(void **state)
{
	(void)state;
	assert_int_equal(line_of("{\"x\": \"a\",\n\"a\": 1}", "a"), 2);
	assert_int_equal(line_of("{\"x\": \"\\\"a\\\":\",\n\"a\": 1}", "a"), 2);
	assert_int_equal(line_of("{\"x\": \"}{[\",\n\"a\": 1}", "a"), 2);
	assert_int_equal(line_of("{\"x\\\\\": 1,\n\"a\": 1}", "a"), 2);
}

static void
colon_may_be_on_another_line_than_the_key(void **state)
{
	(void)state;
	assert_int_equal(line_of("{\n\"a\"\n\n:\n1}", "a"), 2);
}

static void
a_key_written_with_escapes_is_found(void **state)
{
	(void)state;
	assert_int_equal(line_of("{\n\"\\u0074ier\": 1}", "tier"), 2);
	assert_int_equal(line_of("{\n\"a\\\"b\": 1}", "a\"b"), 2);
	assert_int_equal(line_of("{\n\"\\u0000\": 1}", ""), 0);
}

static void
malformed_text_is_scanned_safely(void **state)
{
	static const char *const texts[] = {
		"\"",	 "\"\\", "{\"a",   "{\"a\\",	 "{\"a\\\"", "}}}}",
		"]{\":", "{:",	 "{\"a\"", "{\"\xff\":", ":::",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(line_of(texts[i], "b"), 0);
		assert_true(json_place_depth(texts[i], strlen(texts[i])) < 2);
	}
}

static void
text_ends_at_its_length_not_at_a_nul(void **state)
{
	(void)state;
	assert_int_equal(json_place_line("{\"x\":1,\"a\":1}", 7, "a"), 0);
	assert_int_equal(json_place_line("{\"x\":1\0,\n\"a\":1}", 16, "a"), 2);
}

static void
depth_counts_nesting_but_not_in_strings(void **state)
{
	(void)state;
	assert_int_equal(json_place_depth("1", 1), 0);
	assert_int_equal(json_place_depth("{}", 2), 1);
	assert_int_equal(json_place_depth("[[],[[]]]", 9), 3);
	assert_int_equal(json_place_depth("[\"[[[\"]", 7), 1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_found_on_its_line),
		cmocka_unit_test(missing_key_has_no_line),
		cmocka_unit_test(only_keys_of_the_outermost_object_count),
		cmocka_unit_test(a_value_that_looks_like_a_key_does_not_count),
		cmocka_unit_test(colon_may_be_on_another_line_than_the_key),
		cmocka_unit_test(a_key_written_with_escapes_is_found),
		cmocka_unit_test(malformed_text_is_scanned_safely),
		cmocka_unit_test(text_ends_at_its_length_not_at_a_nul),
		cmocka_unit_test(depth_counts_nesting_but_not_in_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
