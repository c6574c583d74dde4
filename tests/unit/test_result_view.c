/* result_view: the output, the rows of the plan and the document become one
   result. */
#include "result_view.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

static struct remit_result *
begin(const char *out, size_t out_len, const char *errors, size_t err_len)
{
	struct remit_error err;
	struct remit_result *r = result_view_new(&err);

	assert_non_null(r);
	assert_int_equal(result_view_add(r, REMIT_STDOUT, out, out_len, &err),
			 0);
	assert_int_equal(
		result_view_add(r, REMIT_STDERR, errors, err_len, &err), 0);
	return r;
}

static void
finish(struct remit_result *r, const char *json)
{
	struct remit_error err;

	assert_false(result_view_is_done(r));
	if (result_view_finish(r, json, strlen(json), &err) < 0)
		fail_msg("%s", err.message);
	assert_true(result_view_is_done(r));
}

/* NULL: the document has no such key. */
static void
has_text(const struct remit_result *r, const char *key, const char *want)
{
	json_auto_t *doc = json_loads(remit_result_json(r), 0, NULL);
	const char *text = json_string_value(json_object_get(doc, key));

	assert_non_null(doc);
	if (!want)
		assert_null(json_object_get(doc, key));
	else
		assert_string_equal(text, want);
}

static void
output_and_document_become_one(void **state)
{
	struct remit_result *r = begin(BYTES("ou"), BYTES("warn"));
	struct remit_error err;
	size_t len;

	(void)state;
	assert_int_equal(result_view_add(r, REMIT_STDOUT, "t\n", 2, &err), 0);
	finish(r, "{\"status\": \"exit\", \"remit_exit_code\": 3,"
		  " \"stdout\": \"\", \"x\": 1}");
	assert_string_equal(remit_result_status(r), "exit");
	assert_int_equal(remit_result_exit_code(r), 3);
	assert_string_equal(remit_result_output(r, REMIT_STDOUT, &len),
			    "out\n");
	assert_int_equal(len, 4);
	assert_string_equal(remit_result_output(r, REMIT_STDERR, NULL), "warn");
	has_text(r, "stdout", "out\n");
	has_text(r, "stderr", "warn");
	has_text(r, "stdout_base64", NULL);
	has_text(r, "stderr_base64", NULL);
	remit_result_free(r);
}

static void
a_silent_program_has_empty_output(void **state)
{
	struct remit_result *r = begin("", 0, "", 0);

	(void)state;
	finish(r, "{}");
	has_text(r, "stdout", "");
	has_text(r, "stdout_base64", NULL);
	remit_result_free(r);
}

static void
output_that_is_no_text_is_there_as_base64_too(void **state)
{
	struct remit_result *r = begin(BYTES("a\xff"), BYTES("fine"));
	size_t len;

	(void)state;
	finish(r, "{\"stdout_truncated\": true}");
	has_text(r, "stdout", "a\xef\xbf\xbd");
	has_text(r, "stdout_base64", "Yf8=");
	has_text(r, "stderr_base64", NULL);
	remit_result_output(r, REMIT_STDOUT, &len);
	assert_int_equal(len, 2);
	remit_result_free(r);
}

static void
a_character_cut_by_the_cap_is_left_out_of_the_text(void **state)
{
	struct remit_result *r = begin(BYTES("a\xe2\x82"), BYTES("b\xc3"));
	size_t len;

	(void)state;
	finish(r, "{\"stdout_truncated\": true, \"stderr_truncated\": true}");
	has_text(r, "stdout", "a");
	has_text(r, "stdout_base64", NULL);
	has_text(r, "stderr", "b");
	/* The bytes themselves are all there. */
	remit_result_output(r, REMIT_STDOUT, &len);
	assert_int_equal(len, 3);
	remit_result_free(r);
}

static void
a_character_the_program_itself_cut_is_not_hidden(void **state)
{
	struct remit_result *r = begin(BYTES("a\xc3"), BYTES(""));

	(void)state;
	finish(r, "{\"stdout_truncated\": false, \"stderr_truncated\": true}");
	has_text(r, "stdout", "a\xef\xbf\xbd");
	has_text(r, "stdout_base64", "YcM=");
	remit_result_free(r);
}

static void
nul_bytes_are_part_of_the_text(void **state)
{
	struct remit_result *r = begin(BYTES("a\0b"), BYTES(""));

	(void)state;
	finish(r, "{}");
	assert_non_null(strstr(remit_result_json(r), "\"a\\u0000b\""));
	remit_result_free(r);
}

#define DOCUMENT                                                             \
	"{\"status\":\"ok\",\"stdout\":\"\",\"stderr\":\"\",\"error\":null," \
	"\"denials\":[],\"artifacts\":[],\"remit_exit_code\":0}"
#define ROWS "[{\"field\":\"timeout\",\"value\":1.5}]"

static void
enforce(struct remit_result *r, const char *rows)
{
	struct remit_error err;

	assert_int_equal(result_view_enforce(r, rows, strlen(rows), &err), 0);
}

/* It comes in a frame of its own, because it is the same for every run. */
static void
the_enforcement_stands_before_the_denials(void **state)
{
	struct remit_result *r = begin(BYTES("out"), BYTES(""));

	(void)state;
	enforce(r, ROWS);
	assert_false(result_view_is_done(r));
	finish(r, DOCUMENT);
	assert_string_equal(
		remit_result_json(r),
		"{\"status\":\"ok\",\"stdout\":\"out\",\"stderr\":\"\","
		"\"error\":null,\"value\":null,\"displays\":[],"
		"\"enforcement\":" ROWS ",\"denials\":[],"
		"\"artifacts\":[],\"remit_exit_code\":0}");
	/* Asked again it is the same, not made again. */
	assert_ptr_equal(remit_result_json(r), remit_result_json(r));
	remit_result_free(r);
}

/* Only as much as the frame has: no end is written behind it. */
static void
the_enforcement_is_as_long_as_its_frame(void **state)
{
	struct remit_result *r = begin("", 0, "", 0);
	struct remit_error err;

	(void)state;
	assert_int_equal(result_view_enforce(r, "[1][2]", 3, &err), 0);
	finish(r, DOCUMENT);
	assert_non_null(strstr(remit_result_json(r),
			       "\"enforcement\":[1],\"denials\""));
	remit_result_free(r);
}

/* A program must not write the rows that say what it was held by. */
static void
output_cannot_take_the_place_of_the_enforcement(void **state)
{
	static const char forged[] =
		"\",\"denials\":[],\"enforcement\":[],\"x\":\""
		",\"denials\":";
	struct remit_result *r = begin(BYTES(forged), BYTES(forged));
	json_auto_t *doc = NULL;
	json_auto_t *rows = json_loads(ROWS, 0, NULL);

	(void)state;
	enforce(r, ROWS);
	finish(r, DOCUMENT);
	has_text(r, "stdout", forged);
	has_text(r, "stderr", forged);
	doc = json_loads(remit_result_json(r), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(doc);
	assert_true(json_equal(json_object_get(doc, "enforcement"), rows));
	assert_int_equal(json_object_size(doc), 10);
	remit_result_free(r);
}

/* Refused before there was one. */
static void
a_result_without_a_plan_has_no_rows_but_a_list_of_them(void **state)
{
	struct remit_result *r = begin("", 0, "", 0);

	(void)state;
	finish(r, DOCUMENT);
	assert_non_null(strstr(remit_result_json(r),
			       ",\"enforcement\":[],\"denials\":[],"));
	has_text(r, "status", "ok");
	remit_result_free(r);
}

static void
bytes_that_are_no_text_stand_beside_the_enforcement(void **state)
{
	struct remit_result *r = begin(BYTES("\xff"), BYTES("\xfe"));

	(void)state;
	enforce(r, ROWS);
	finish(r, DOCUMENT);
	has_text(r, "stdout_base64", "/w==");
	has_text(r, "stderr_base64", "/g==");
	assert_non_null(strstr(remit_result_json(r),
			       "\"enforcement\":" ROWS ",\"denials\""));
	remit_result_free(r);
}

static void
only_a_shared_keepers_refusal_sends_the_caller_elsewhere(void **state)
{
	static const struct {
		const char *json;
		bool elsewhere;
	} rows[] = {
		{ "{\"error\":{\"elsewhere\":true}}", true },
		{ "{\"error\":{\"elsewhere\":false}}", false },
		{ "{\"error\":{\"elsewhere\":1}}", false },
		{ "{\"error\":{\"name\":\"elsewhere\"}}", false },
		{ "{\"error\":null}", false },
		{ "{\"error\":\"elsewhere\"}", false },
		{ "{\"elsewhere\":true}", false },
		{ "{}", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct remit_result *r = begin("", 0, "", 0);

		finish(r, rows[i].json);
		assert_int_equal(result_view_is_elsewhere(r),
				 rows[i].elsewhere);
		remit_result_free(r);
	}
}

static void
a_document_that_is_no_object_breaks_the_protocol(void **state)
{
	static const char *const texts[] = { "",	 "[]",	 "{",
					     "nonsense", "{} x", "[{}]" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct remit_result *r = begin("", 0, "", 0);
		struct remit_error err;

		assert_int_equal(
			result_view_finish(r, texts[i], strlen(texts[i]), &err),
			-1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
		remit_result_free(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_document_become_one),
		cmocka_unit_test(a_silent_program_has_empty_output),
		cmocka_unit_test(output_that_is_no_text_is_there_as_base64_too),
		cmocka_unit_test(
			a_character_cut_by_the_cap_is_left_out_of_the_text),
		cmocka_unit_test(
			a_character_the_program_itself_cut_is_not_hidden),
		cmocka_unit_test(nul_bytes_are_part_of_the_text),
		cmocka_unit_test(the_enforcement_stands_before_the_denials),
		cmocka_unit_test(the_enforcement_is_as_long_as_its_frame),
		cmocka_unit_test(
			output_cannot_take_the_place_of_the_enforcement),
		cmocka_unit_test(
			a_result_without_a_plan_has_no_rows_but_a_list_of_them),
		cmocka_unit_test(
			bytes_that_are_no_text_stand_beside_the_enforcement),
		cmocka_unit_test(
			only_a_shared_keepers_refusal_sends_the_caller_elsewhere),
		cmocka_unit_test(
			a_document_that_is_no_object_breaks_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
