/* text: UTF-8, JSON and base64 of untrusted bytes. */
#include "base/text.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

struct row {
	const char *bytes;
	size_t len;
	size_t valid;
	bool cut;
};

static void
check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* Allocated with the exact length, so that ASan detects a read
		   beyond the end. */
		own_mem char *exact = malloc(rows[i].len ? rows[i].len : 1);
		size_t valid;
		bool cut;

		assert_non_null(exact);
		memcpy(exact, rows[i].bytes, rows[i].len);
		valid = text_valid_prefix(exact, rows[i].len);
		cut = text_is_cut(exact, rows[i].len);
		if (valid != rows[i].valid || cut != rows[i].cut)
			fail_msg("row %zu: valid %zu, cut %d", i, valid, cut);
	}
}

static void
every_length_of_character_is_valid_at_its_borders(void **state)
{
	static const struct row rows[] = {
		{ BYTES(""), 0, false },
		{ BYTES("plain"), 5, false },
		{ BYTES("\0"), 1, false },
		{ BYTES("\x7f"), 1, false },
		{ BYTES("\xc2\x80"), 2, false },
		{ BYTES("\xdf\xbf"), 2, false },
		{ BYTES("\xe0\xa0\x80"), 3, false },
		{ BYTES("\xec\xbf\xbf"), 3, false },
		{ BYTES("\xed\x9f\xbf"), 3, false },
		{ BYTES("\xee\x80\x80"), 3, false },
		{ BYTES("\xef\xbf\xbf"), 3, false },
		{ BYTES("\xf0\x90\x80\x80"), 4, false },
		{ BYTES("\xf3\xbf\xbf\xbf"), 4, false },
		{ BYTES("\xf4\x8f\xbf\xbf"), 4, false },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
overlong_forms_surrogates_and_too_large_characters_are_invalid(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\x80"), 1, false },
		{ BYTES("a\xbf"), 1, false },
		{ BYTES("a\xc0\x80"), 1, false },
		{ BYTES("a\xc1\xbf"), 1, false },
		{ BYTES("a\xe0\x80\x80"), 1, false },
		{ BYTES("a\xe0\x9f\xbf"), 1, false },
		{ BYTES("a\xed\xa0\x80"), 1, false },
		{ BYTES("a\xed\xbf\xbf"), 1, false },
		{ BYTES("a\xf0\x80\x80\x80"), 1, false },
		{ BYTES("a\xf0\x8f\xbf\xbf"), 1, false },
		{ BYTES("a\xf4\x90\x80\x80"), 1, false },
		{ BYTES("a\xf5\x80\x80\x80"), 1, false },
		{ BYTES("a\xff"), 1, false },
		{ BYTES("a\xfe\xff"), 1, false },
		{ BYTES("a\xc2z"), 1, false },
		{ BYTES("a\xe1\x80z"), 1, false },
		{ BYTES("a\xe1\xc0\x80"), 1, false },
		{ BYTES("a\xf1\x80\x80z"), 1, false },
		{ BYTES("\xc3\xa9\x80\xc3\xa9"), 2, false },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
character_without_its_end_is_reported_as_cut(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\xc2"), 1, true },
		{ BYTES("a\xe0"), 1, true },
		{ BYTES("a\xe0\xa0"), 1, true },
		{ BYTES("a\xf4"), 1, true },
		{ BYTES("a\xf4\x8f"), 1, true },
		{ BYTES("a\xf4\x8f\xbf"), 1, true },
		/* No continuation can make these valid. */
		{ BYTES("a\xe0\x80"), 1, false },
		{ BYTES("a\xed\xa0"), 1, false },
		{ BYTES("a\xf4\x90"), 1, false },
		{ BYTES("a\xff\xc2"), 1, false },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
is_json(const char *bytes, size_t len, const char *want, size_t want_len)
{
	json_auto_t *s = text_to_json(bytes, len);

	assert_non_null(s);
	assert_int_equal(json_string_length(s), want_len);
	assert_memory_equal(json_string_value(s), want, want_len);
}

#define FFFD "\xef\xbf\xbd"

static void
each_invalid_byte_becomes_one_replacement_character(void **state)
{
	(void)state;
	is_json(BYTES(""), BYTES(""));
	is_json(BYTES("a\0b"), BYTES("a\0b"));
	is_json(BYTES("\xc3\xa9"), BYTES("\xc3\xa9"));
	is_json(BYTES("a\xff"
		      "b"),
		BYTES("a" FFFD "b"));
	is_json(BYTES("\xff\xfe\x80"), BYTES(FFFD FFFD FFFD));
	is_json(BYTES("\xed\xa0\x80"), BYTES(FFFD FFFD FFFD));
	is_json(BYTES("x\xe2\x82"), BYTES("x" FFFD FFFD));
	is_json(BYTES("\xe2\x82\xc3\xa9"), BYTES(FFFD FFFD "\xc3\xa9"));
}

static void
any_two_bytes_can_be_a_json_string(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 65536; i++) {
		char bytes[2] = { (char)(i >> 8), (char)i };
		json_auto_t *s = text_to_json(bytes, 2);

		assert_non_null(s);
		if (text_valid_prefix(bytes, 2) == 2)
			assert_memory_equal(json_string_value(s), bytes, 2);
		else
			assert_non_null(memmem(json_string_value(s),
					       json_string_length(s), FFFD, 3));
	}
}

static void
json_is_written_as_jansson_writes_it(void **state)
{
	static const char *const documents[] = {
		"{}",
		"[]",
		"[[[[{}]]]]",
		"{\"a\":[1,-9223372036854775808,0.1,1e+300]}",
		"[-1.2345678901234e-300]",
		"[true,false,null,\"\"]",
		"[\"\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\\u007f\"]",
		"{\"\\u0001\\\"\":\"\xf0\x9f\x98\x80\xc3\xa9\"}",
		"{\"\":{\"\":{\"\":[\"\\u0000\"]}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
		json_auto_t *doc =
			json_loads(documents[i], JSON_ALLOW_NUL, NULL);
		char *want, *got;
		size_t len;

		assert_non_null(doc);
		want = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15));
		got = text_from_json(doc, &len);
		assert_non_null(got);
		assert_string_equal(got, want);
		assert_int_equal(len, strlen(want));
		free(got);
		free(want);
	}
}

/* ---- base64 ---- */

static void
base64_round_trip_is_exact(void **state)
{
	char bytes[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		char *text = base64_encode(bytes, len), *back;
		size_t n;

		assert_int_equal(base64_decode(text, strlen(text), &back, &n),
				 0);
		assert_int_equal(n, len);
		assert_memory_equal(back, bytes, len);
		free(text);
		free(back);
	}
}

static void
base64_in_any_other_form_is_refused(void **state)
{
	static const char *const bad[] = {
		"A",	"AA",	"AAA",	"AAA=AAAA", "====", "A===", "AAAA\n",
		"AA A", "AA-_", "QR==", "QUJ=",	    "=AAA", "AA=A",
	};
	char *bytes;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(
			base64_decode(bad[i], strlen(bad[i]), &bytes, &n), -1);
}

/* The vectors of RFC 4648, section 10, and bytes that are encoded with the last
   two digits, + and /. */
static void
base64_is_that_of_the_standard(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} rows[] = {
		{ BYTES(""), "" },
		{ BYTES("f"), "Zg==" },
		{ BYTES("fo"), "Zm8=" },
		{ BYTES("foo"), "Zm9v" },
		{ BYTES("foob"), "Zm9vYg==" },
		{ BYTES("fooba"), "Zm9vYmE=" },
		{ BYTES("foobar"), "Zm9vYmFy" },
		{ BYTES("\0"), "AA==" },
		{ BYTES("\0\0\0"), "AAAA" },
		{ BYTES("\xff"), "/w==" },
		{ BYTES("\xff\xff"), "//8=" },
		{ BYTES("\xff\xff\xff"), "////" },
		{ BYTES("\xfb\xef\xbe"), "++++" },
		{ BYTES("\x14\xfb\x9c\x03\xd9\x7e"), "FPucA9l+" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own_mem char *exact = malloc(rows[i].len ? rows[i].len : 1);
		own_mem char *text = NULL;

		assert_non_null(exact);
		memcpy(exact, rows[i].bytes, rows[i].len);
		text = base64_encode(exact, rows[i].len);
		assert_string_equal(text, rows[i].text);
	}
}

/* ---- the shape of a JSON text ---- */

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
json_shapes_of_examples(void **state)
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
json_shape_never_underestimates_values(void **state)
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
		cmocka_unit_test(
			every_length_of_character_is_valid_at_its_borders),
		cmocka_unit_test(
			overlong_forms_surrogates_and_too_large_characters_are_invalid),
		cmocka_unit_test(character_without_its_end_is_reported_as_cut),
		cmocka_unit_test(
			each_invalid_byte_becomes_one_replacement_character),
		cmocka_unit_test(any_two_bytes_can_be_a_json_string),
		cmocka_unit_test(json_is_written_as_jansson_writes_it),
		cmocka_unit_test(base64_is_that_of_the_standard),
		cmocka_unit_test(base64_round_trip_is_exact),
		cmocka_unit_test(base64_in_any_other_form_is_refused),
		cmocka_unit_test(json_shapes_of_examples),
		cmocka_unit_test(json_shape_never_underestimates_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
