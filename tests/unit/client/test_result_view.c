/* result_view: output, enforcement and the keeper's members become one result,
   or an error if anything is missing. */
#include "client/result_view.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/result.h"

#define BYTES(text) (text), sizeof(text) - 1

static struct remit_result *
begin_result(const char *out, size_t out_len, const char *errors,
	     size_t err_len)
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

#define ROWS "[{\"field\":\"timeout\",\"value\":1.5}]"

/* Returns the members of a keeper, with those of `changed` (JSON) replaced. */
static char *
keeper_members(const char *changed)
{
	json_auto_t *doc = json_object();
	json_t *other = json_loads(changed, 0, NULL);
	char *text;

	assert_non_null(other);
	for (size_t i = 0; i < RESULT_MEMBERS; i++)
		if (result_rows[i].source == RESULT_BY_KEEPER)
			json_object_set_new(
				doc, result_rows[i].name,
				json_loads(result_rows[i].default_json,
					   JSON_DECODE_ANY, NULL));
	assert_int_equal(json_object_update(doc, other), 0);
	json_decref(other);
	text = json_dumps(doc, JSON_COMPACT);
	assert_non_null(text);
	return text;
}

static int
try_to_finish(struct remit_result *r, const char *json, struct remit_error *err)
{
	const struct result_parts none = { 0 };

	return result_view_finish(r, json, strlen(json), &none, err);
}

static void
add_enforcement(struct remit_result *r, const char *rows)
{
	struct remit_error err;

	assert_int_equal(result_view_enforce(r, rows, strlen(rows), &err), 0);
}

static void
finish_result(struct remit_result *r, const char *changed)
{
	own_mem char *json = keeper_members(changed);
	struct remit_error err;

	assert_false(result_view_is_done(r));
	add_enforcement(r, ROWS);
	if (try_to_finish(r, json, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(result_view_is_done(r));
}

/* Check that no result is made, and that the error contains `names`. */
static void
expect_refused(const char *json, const char *rows, const char *names)
{
	struct remit_error err;
	struct remit_result *r = result_view_new(&err);

	assert_non_null(r);
	if (rows)
		add_enforcement(r, rows);
	assert_int_equal(try_to_finish(r, json, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
	assert_non_null(strstr(err.message, names));
	assert_false(result_view_is_done(r));
	remit_result_free(r);
}

/* NULL: the document must not have the key. */
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
result_merges_output_into_the_document(void **state)
{
	struct remit_result *r = begin_result(BYTES("ou"), BYTES("warn"));
	struct remit_error err;
	size_t len;

	(void)state;
	assert_int_equal(result_view_add(r, REMIT_STDOUT, "t\n", 2, &err), 0);
	finish_result(r, "{\"status\": \"exit\", \"remit_exit_code\": 3}");
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
silent_program_has_empty_output(void **state)
{
	struct remit_result *r = begin_result("", 0, "", 0);

	(void)state;
	finish_result(r, "{}");
	has_text(r, "stdout", "");
	has_text(r, "stdout_base64", NULL);
	remit_result_free(r);
}

static void
output_that_is_no_text_is_there_as_base64_too(void **state)
{
	struct remit_result *r = begin_result(BYTES("a\xff"), BYTES("fine"));
	size_t len;

	(void)state;
	finish_result(r, "{\"stdout_truncated\": true}");
	has_text(r, "stdout", "a\xef\xbf\xbd");
	has_text(r, "stdout_base64", "Yf8=");
	has_text(r, "stderr_base64", NULL);
	remit_result_output(r, REMIT_STDOUT, &len);
	assert_int_equal(len, 2);
	remit_result_free(r);
}

static void
character_cut_by_the_limit_is_left_out_of_the_text(void **state)
{
	struct remit_result *r =
		begin_result(BYTES("a\xe2\x82"), BYTES("b\xc3"));
	size_t len;

	(void)state;
	finish_result(
		r, "{\"stdout_truncated\": true, \"stderr_truncated\": true}");
	has_text(r, "stdout", "a");
	has_text(r, "stdout_base64", NULL);
	has_text(r, "stderr", "b");
	/* The output has all bytes. */
	remit_result_output(r, REMIT_STDOUT, &len);
	assert_int_equal(len, 3);
	remit_result_free(r);
}

static void
character_cut_by_the_program_is_not_hidden(void **state)
{
	struct remit_result *r = begin_result(BYTES("a\xc3"), BYTES(""));

	(void)state;
	finish_result(
		r, "{\"stdout_truncated\": false, \"stderr_truncated\": true}");
	has_text(r, "stdout", "a\xef\xbf\xbd");
	has_text(r, "stdout_base64", "YcM=");
	remit_result_free(r);
}

static void
nul_bytes_are_part_of_the_text(void **state)
{
	struct remit_result *r = begin_result(BYTES("a\0b"), BYTES(""));

	(void)state;
	finish_result(r, "{}");
	assert_non_null(strstr(remit_result_json(r), "\"a\\u0000b\""));
	remit_result_free(r);
}

static void
result_text_is_one_line_in_table_order(void **state)
{
	struct remit_result *r = begin_result(BYTES("out"), BYTES(""));

	(void)state;
	finish_result(r, "{\"status\":\"ok\",\"remit_exit_code\":0}");
	assert_string_equal(
		remit_result_json(r),
		"{\"status\":\"ok\",\"tier\":null,\"start\":null,"
		"\"exit_code\":null,\"signal\":null,\"stdout\":\"out\","
		"\"stderr\":\"\",\"stdout_truncated\":false,"
		"\"stderr_truncated\":false,\"error\":null,\"reported\":[],"
		"\"usage\":{\"wall_ms\":null,\"cpu_ms\":null,"
		"\"memory_peak_bytes\":null,\"processes_peak\":null,"
		"\"network\":null,\"tool_calls\":0,\"tool_wait_ms\":null},"
		"\"displays_left_out\":0,\"value\":null,\"displays\":[],"
		"\"enforcement\":" ROWS ",\"denials\":[],"
		"\"denials_left_out\":0,\"denials_seen\":null,"
		"\"artifacts\":[],\"artifacts_skipped\":[],\"changes\":[],"
		"\"changes_skipped\":[],\"committed\":null,\"installed\":[],"
		"\"session\":null,\"calls\":[],\"calls_left_out\":0,"
		"\"run_id\":null,\"remit_version\":\"\","
		"\"remit_exit_code\":0}");
	/* A second call returns the same text. */
	assert_ptr_equal(remit_result_json(r), remit_result_json(r));
	remit_result_free(r);
}

/* Check that jansson reads every member once, in the order of the table. */
static void
has_all_members_in_order(const char *text, bool optional)
{
	json_auto_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const char *name;
	json_t *value;
	size_t row = 0;

	assert_non_null(doc);
	json_object_foreach(doc, name, value)
	{
		while (!optional && row < RESULT_MEMBERS &&
		       (result_rows[row].source == RESULT_BY_CALLER ||
			result_rows[row].source == RESULT_BY_ENCODING))
			row++;
		assert_true(row < RESULT_MEMBERS);
		assert_string_equal(name, result_rows[row].name);
		row++;
	}
	if (optional)
		assert_int_equal(row, RESULT_MEMBERS);
	else
		assert_int_equal(row, RESULT_STDOUT_BASE64);
}

static void
result_text_has_exactly_the_members_of_the_table(void **state)
{
	const struct result_heading heading = { .id = "\"a\"", .line = "7" };
	struct remit_result *r = begin_result(BYTES(""), BYTES(""));
	own(buf) struct buf text = BUF_INIT(0);

	(void)state;
	finish_result(r, "{}");
	has_all_members_in_order(remit_result_json(r), false);
	remit_result_free(r);
	r = begin_result(BYTES("\xff"), BYTES("\xff"));
	finish_result(r, "{}");
	assert_int_equal(result_view_write(r, &heading, &text), 0);
	has_all_members_in_order(text.data, true);
	assert_memory_equal(text.data,
			    "{\"id\":\"a\",\"line\":7,\"status\":", 27);
	remit_result_free(r);
}

static void
keeper_result_with_a_missing_member_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		own_mem char *whole = keeper_members("{}"), *less = NULL;
		json_auto_t *doc = json_loads(whole, 0, NULL);

		if (result_rows[i].source != RESULT_BY_KEEPER)
			continue;
		assert_int_equal(json_object_del(doc, result_rows[i].name), 0);
		less = json_dumps(doc, JSON_COMPACT);
		expect_refused(less, ROWS, result_rows[i].name);
	}
}

static void
keeper_result_with_a_mistyped_member_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		own_mem char *whole = keeper_members("{}"), *other = NULL;
		json_auto_t *doc = json_loads(whole, 0, NULL);

		if (result_rows[i].source != RESULT_BY_KEEPER)
			continue;
		json_object_set_new(doc, result_rows[i].name, json_real(0.5));
		other = json_dumps(doc, JSON_COMPACT);
		expect_refused(other, ROWS, result_rows[i].name);
	}
}

/* The keeper must not send members that the library or the plan adds. */
static void
keeper_result_with_a_foreign_member_is_an_error(void **state)
{
	static const char *const others[] = {
		"{\"enforcement\":[]}", "{\"stdout\":\"\"}", "{\"value\":null}",
		"{\"calls\":[]}",	"{\"new\":1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		own_mem char *more = keeper_members(others[i]);

		expect_refused(more, ROWS,
			       "members that are unknown to this release");
	}
}

static void
result_without_enforcement_is_an_error(void **state)
{
	own_mem char *json = keeper_members("{\"status\":\"ok\"}");

	(void)state;
	expect_refused(json, NULL, "\"enforcement\"");
}

static void
enforcement_that_is_not_a_list_is_an_error(void **state)
{
	static const char *const bad[] = { "",	   "[",	   "]",		"{}",
					   "null", "[1",   "[garbage]", "[1,]",
					   "[1]",  "[{}]", "[[]]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct remit_error err;
		struct remit_result *r = result_view_new(&err);

		assert_int_equal(
			result_view_enforce(r, bad[i], strlen(bad[i]), &err),
			-1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
		remit_result_free(r);
	}
}

static void
run_with_empty_enforcement_is_an_error(void **state)
{
	own_mem char *ran = keeper_members("{\"start\":\"warm\"}");

	(void)state;
	expect_refused(ran, "[]", "\"enforcement\"");
}

static void
keeper_member_with_a_missing_part_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < RESULT_MEMBERS; i++) {
		const struct result_row *row = &result_rows[i];

		for (int p = 0; p < RESULT_PARTS_MAX && row->parts[p]; p++) {
			json_auto_t *doc = json_object();
			json_t *value = json_object();
			own_mem char *changed = NULL, *less = NULL;

			for (int o = 0; o < RESULT_PARTS_MAX && row->parts[o];
			     o++)
				if (o != p)
					json_object_set_new(value,
							    row->parts[o],
							    json_null());
			json_object_set_new(doc, row->name, value);
			changed = json_dumps(doc, JSON_COMPACT);
			less = keeper_members(changed);
			expect_refused(less, ROWS, row->parts[p]);
		}
	}
}

/* A program must not be able to forge the rows of enforcement. */
static void
output_cannot_replace_the_enforcement(void **state)
{
	static const char forged[] =
		"\",\"denials\":[],\"enforcement\":[],\"x\":\""
		",\"denials\":";
	struct remit_result *r = begin_result(BYTES(forged), BYTES(forged));
	json_auto_t *rows = json_loads(ROWS, 0, NULL), *doc = NULL;

	(void)state;
	finish_result(r, "{}");
	has_text(r, "stdout", forged);
	has_text(r, "stderr", forged);
	has_all_members_in_order(remit_result_json(r), false);
	doc = json_loads(remit_result_json(r), 0, NULL);
	assert_true(json_equal(json_object_get(doc, "enforcement"), rows));
	remit_result_free(r);
}

static void
invalid_utf8_output_is_also_given_as_base64(void **state)
{
	struct remit_result *r = begin_result(BYTES("\xff"), BYTES("\xfe"));

	(void)state;
	finish_result(r, "{}");
	has_text(r, "stdout_base64", "/w==");
	has_text(r, "stderr_base64", "/g==");
	remit_result_free(r);
}

static void
error_before_any_keeper_is_a_complete_result(void **state)
{
	struct remit_error why = { .code = REMIT_E_INPUT,
				   .message = "because",
				   .where = "code" };
	struct remit_result *r = result_view_of_error(STATUS_REFUSED, &why);
	json_auto_t *error = json_loads(
		"{\"name\":\"input\",\"value\":\"because\","
		"\"traceback\":\"\",\"line\":null,\"where\":\"code\"}",
		0, NULL);

	(void)state;
	assert_non_null(r);
	has_all_members_in_order(remit_result_json(r), false);
	assert_string_equal(remit_result_status(r), "refused");
	assert_int_equal(remit_result_exit_code(r), 125);
	assert_true(json_equal(
		json_object_get(result_view_document(r), "error"), error));
	remit_result_free(r);
}

#define ERROR(member) \
	"{\"error\":{\"name\":\"elsewhere\",\"value\":\"\"," member "}}"

static void
only_a_shared_keeper_refusal_means_elsewhere(void **state)
{
	static const struct {
		const char *json;
		bool elsewhere;
	} rows[] = {
		{ ERROR("\"elsewhere\":true"), true },
		{ ERROR("\"elsewhere\":false"), false },
		{ ERROR("\"elsewhere\":1"), false },
		{ ERROR("\"elsewher\":true"), false },
		{ "{\"error\":null}", false },
		{ "{}", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct remit_result *r = begin_result("", 0, "", 0);

		finish_result(r, rows[i].json);
		assert_int_equal(result_view_is_elsewhere(r),
				 rows[i].elsewhere);
		remit_result_free(r);
	}
}

static void
result_that_is_not_an_object_breaks_the_protocol(void **state)
{
	static const char *const texts[] = { "",	 "[]",	 "{",
					     "nonsense", "{} x", "[{}]" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_refused(texts[i], ROWS, "not valid JSON");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(result_merges_output_into_the_document),
		cmocka_unit_test(silent_program_has_empty_output),
		cmocka_unit_test(output_that_is_no_text_is_there_as_base64_too),
		cmocka_unit_test(
			character_cut_by_the_limit_is_left_out_of_the_text),
		cmocka_unit_test(character_cut_by_the_program_is_not_hidden),
		cmocka_unit_test(nul_bytes_are_part_of_the_text),
		cmocka_unit_test(result_text_is_one_line_in_table_order),
		cmocka_unit_test(
			result_text_has_exactly_the_members_of_the_table),
		cmocka_unit_test(
			keeper_result_with_a_missing_member_is_an_error),
		cmocka_unit_test(
			keeper_result_with_a_mistyped_member_is_an_error),
		cmocka_unit_test(
			keeper_result_with_a_foreign_member_is_an_error),
		cmocka_unit_test(result_without_enforcement_is_an_error),
		cmocka_unit_test(enforcement_that_is_not_a_list_is_an_error),
		cmocka_unit_test(run_with_empty_enforcement_is_an_error),
		cmocka_unit_test(keeper_member_with_a_missing_part_is_an_error),
		cmocka_unit_test(output_cannot_replace_the_enforcement),
		cmocka_unit_test(invalid_utf8_output_is_also_given_as_base64),
		cmocka_unit_test(error_before_any_keeper_is_a_complete_result),
		cmocka_unit_test(only_a_shared_keeper_refusal_means_elsewhere),
		cmocka_unit_test(
			result_that_is_not_an_object_breaks_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
