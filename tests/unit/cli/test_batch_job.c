/* batch_job: parses a line into a job, or states what is wrong with it. */
#include "cli/batch/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LINE 7

static struct policy base;

static void
parse_line(struct batch_job *j, const char *text)
{
	struct remit_error err;

	if (batch_job_parse(j, text, strlen(text), LINE, &base, &err) < 0)
		fail_msg("%s: %s", text, err.message);
}

static void
job_reads_every_key(void **state)
{
	own(batch_job) struct batch_job j;

	(void)state;
	parse_line(&j, "{\"stdin\": \"in\\u0000put\", \"argv\": [\"x\", \"\"], "
		       "\"name\": \"n.py\", \"code\": \"a\\u0000b\", "
		       "\"id\": \"\\u00e9\\n\\\"\"}");
	assert_false(j.is_bad);
	assert_string_equal(j.id, "\"\xc3\xa9\\n\\\"\"");
	assert_int_equal(j.run.code_len, 3);
	assert_memory_equal(j.run.code, "a\0b", 3);
	assert_string_equal(j.run.name, "n.py");
	assert_string_equal(j.run.argv[0], "x");
	assert_string_equal(j.run.argv[1], "");
	assert_null(j.run.argv[2]);
	assert_int_equal(j.run.stdin_len, 6);
	assert_memory_equal(j.run.stdin_bytes, "in\0put", 6);
	assert_null(j.run.policy_json);
	assert_int_equal(j.run.stdin_fd, -1);
}

static void
job_file_keeps_its_name_unless_path_is_given(void **state)
{
	own(batch_job) struct batch_job j;

	(void)state;
	parse_line(&j, "{\"code\": \"\", \"files\": [{\"local\": \"d/a.csv\"}, "
		       "{\"path\": \"in/b\", \"local\": \"/x\"}]}");
	assert_false(j.is_bad);
	assert_int_equal(j.run.file_count, 2);
	assert_string_equal(j.run.files[0].host_path, "d/a.csv");
	assert_string_equal(j.run.files[0].path, "a.csv");
	assert_string_equal(j.run.files[1].host_path, "/x");
	assert_string_equal(j.run.files[1].path, "in/b");
}

static void
malformed_files_are_refused(void **state)
{
	static const char *const wrong[] = {
		"\"a\"",
		"{}",
		"[\"a\"]",
		"[{}]",
		"[{\"path\": \"a\"}]",
		"[{\"local\": 1}]",
		"[{\"local\": \"a\", \"path\": null}]",
		"[{\"local\": \"a\", \"mode\": 1}]",
		"[{\"local\": \"a\\u0000b\"}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		own(batch_job) struct batch_job j;
		char text[200];

		snprintf(text, sizeof(text), "{\"code\": \"\", \"files\": %s}",
			 wrong[i]);
		parse_line(&j, text);
		assert_true(j.is_bad);
		assert_non_null(strstr(j.why.message, "files"));
	}
}

static void
job_needs_only_code_and_defaults_its_id_to_the_line(void **state)
{
	own(batch_job) struct batch_job j;

	(void)state;
	parse_line(&j, "{\"code\":\"\"}");
	assert_false(j.is_bad);
	assert_string_equal(j.id, "7");
	assert_string_equal(j.run.code, "");
	assert_null(j.run.name);
	assert_null(j.run.argv);
	assert_null(j.run.stdin_bytes);
}

static void
number_and_its_text_are_different_ids(void **state)
{
	own(batch_job) struct batch_job number, text;

	(void)state;
	parse_line(&number, "{\"id\":-12,\"code\":\"\"}");
	parse_line(&text, "{\"id\":\"-12\",\"code\":\"\"}");
	assert_string_equal(number.id, "-12");
	assert_string_equal(text.id, "\"-12\"");
}

static void
job_policy_changes_only_the_fields_it_names(void **state)
{
	own(policy) struct policy changed = { 0 };
	own(batch_job) struct batch_job j;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_preset(&base, "strict", &err), 0);
	parse_line(&j, "{\"code\":\"\",\"policy\":{\"timeout\":\"3s\"}}");
	assert_false(j.is_bad);
	assert_int_equal(policy_init(&changed), 0);
	assert_int_equal(policy_parse(&changed, j.run.policy_json,
				      strlen(j.run.policy_json), "", &err),
			 0);
	assert_int_equal(changed.timeout_ms, 3000);
	assert_int_equal(changed.memory_bytes, base.memory_bytes);
	assert_int_equal(base.timeout_ms, 10000);
}

static void
invalid_job_keeps_its_id_and_the_reason(void **state)
{
	static const struct {
		const char *text, *id, *why;
	} rows[] = {
		{ "", "7", "line 7: column 0: " },
		{ "{", "7", "line 7: column 1: " },
		{ "{} {}", "7", "line 7: column 4: " },
		{ "[]", "7", "line 7: a job must be a JSON object" },
		{ "null", "7", "line 7: a job must be a JSON object" },
		{ "{}", "7", "line 7: the code is missing" },
		{ "{\"id\":\"a\"}", "\"a\"", "line 7: the code is missing" },
		{ "{\"id\":1,\"id\":2,\"code\":\"\"}", "7",
		  "line 7: column 12: duplicate" },
		{ "{\"id\":1.5,\"code\":\"\"}", "7",
		  "line 7: id: must be a string or an integer" },
		{ "{\"id\":\"a\\u0000\",\"code\":\"\"}", "7",
		  "line 7: id: the string contains a NUL" },
		{ "{\"id\":1,\"code\":null}", "1",
		  "line 7: code: must be a string, not null" },
		{ "{\"id\":1,\"code\":\"\",\"stdin\":2}", "1",
		  "line 7: stdin: must be a string, not a number" },
		{ "{\"id\":1,\"code\":\"\",\"argv\":\"x\"}", "1",
		  "line 7: argv: must be a list, not a string" },
		{ "{\"id\":1,\"code\":\"\",\"argv\":[\"x\",true]}", "1",
		  "line 7: argv[1]: must be a string, not true" },
		{ "{\"id\":1,\"code\":\"\",\"argv\":[\"\\u0000\"]}", "1",
		  "line 7: argv[0]: the string contains a NUL" },
		{ "{\"id\":1,\"code\":\"\",\"name\":[]}", "1",
		  "line 7: name: must be a string, not a list" },
		{ "{\"id\":1,\"kode\":\"\"}", "1",
		  "line 7: unknown key \"kode\" (did you mean \"code\"?)" },
		{ "{\"id\":1,\"code\":\"\",\"policy\":[]}", "1",
		  "line 7: policy: must be an object, not a list" },
		{ "{\"id\":1,\"code\":\"\",\"policy\":{\"timeout\":0}}", "1",
		  "line 7: policy:1: timeout: " },
		{ "{\"id\":1,\"code\":\"\xff\"}", "7", "line 7: column 16: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(batch_job) struct batch_job j;

		parse_line(&j, rows[i].text);
		if (!j.is_bad || j.why.code != REMIT_E_INPUT ||
		    strcmp(j.id, rows[i].id) != 0 ||
		    strncmp(j.why.message, rows[i].why, strlen(rows[i].why)))
			fail_msg("%s: %s: %s", rows[i].text, j.id,
				 j.why.message);
	}
}

static void
id_may_reach_but_not_exceed_the_length_limit(void **state)
{
	char text[BATCH_JOB_ID_MAX + 64], id[BATCH_JOB_ID_MAX + 2];

	(void)state;
	for (size_t len = BATCH_JOB_ID_MAX; len <= BATCH_JOB_ID_MAX + 1;
	     len++) {
		own(batch_job) struct batch_job j;

		memset(id, 'x', len);
		id[len] = '\0';
		snprintf(text, sizeof(text), "{\"id\":\"%s\",\"code\":\"\"}",
			 id);
		parse_line(&j, text);
		assert_int_equal(j.is_bad, len > BATCH_JOB_ID_MAX);
	}
}

static int
set_up(void **state)
{
	(void)state;
	return policy_init(&base);
}

static int
tear_down(void **state)
{
	(void)state;
	policy_free(&base);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_reads_every_key),
		cmocka_unit_test(job_file_keeps_its_name_unless_path_is_given),
		cmocka_unit_test(malformed_files_are_refused),
		cmocka_unit_test(
			job_needs_only_code_and_defaults_its_id_to_the_line),
		cmocka_unit_test(number_and_its_text_are_different_ids),
		cmocka_unit_test(job_policy_changes_only_the_fields_it_names),
		cmocka_unit_test(invalid_job_keeps_its_id_and_the_reason),
		cmocka_unit_test(id_may_reach_but_not_exceed_the_length_limit),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
