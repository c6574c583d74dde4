/*
 * json_shape: never less than the parser makes of it, and strings count as one.
 */
#include "base/json_shape.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text;
	size_t values, depth;
} rows[] = {
	{ "", 1, 0 },
	{ "1", 1, 0 },
	{ "\"[[[,,,{\"", 1, 0 },
	{ "\"a\\\"[,\"", 1, 0 },
	{ "\"a\\\\\",[", 3, 1 },
	{ "[]", 2, 1 },
	{ "[1,2,3]", 4, 1 },
	{ "{\"a\": [1, {\"b\": \",\"}]}", 5, 3 },
	{ "]]]]", 1, 0 },
	{ "]][[", 3, 2 },
	{ "\"never ends, [", 1, 0 },
	{ "\"ends in its escape\\", 1, 0 },
};

static void
shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_shape s =
			json_shape_of(rows[i].text, strlen(rows[i].text));

		assert_int_equal(s.values, rows[i].values);
		assert_int_equal(s.depth, rows[i].depth);
	}
}

static size_t
count(const json_t *value)
{
	size_t n = 1, i;
	const char *key;
	json_t *one;

	json_array_foreach((json_t *)value, i, one) n += count(one);
	json_object_foreach((json_t *)value, key, one) n += count(one);
	return n;
}

static void
no_text_has_more_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].text);
		json_t *doc =
			json_loadb(rows[i].text, len, JSON_DECODE_ANY, NULL);

		if (doc)
			assert_true(count(doc) <=
				    json_shape_of(rows[i].text, len).values);
		json_decref(doc);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(no_text_has_more_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
