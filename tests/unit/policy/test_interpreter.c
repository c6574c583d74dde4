/* interpreter: which interpreters are accepted, and which answers. */
#include "policy/interpreter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char answer[] =
	"{\"implementation\": \"cpython\", \"version\": [3, 11, 2],"
	" \"free_threaded\": false, \"executable\": \"/venv/bin/python\","
	" \"real\": \"/usr/bin/python3.11\", \"prefix\": \"/venv\","
	" \"exec_prefix\": \"/venv/exec\", \"compiled\": \"/cache/compiled\","
	" \"sys_path\": [\"/usr/lib/python3.11\", \"/venv/lib\"],"
	" \"mounts\": [\"/usr/lib\"], \"program_mounts\": [\"/usr/bin\"],"
	" \"program_path\": \"/venv/bin:/usr/bin\","
	" \"network_mounts\": [\"/etc/hosts\"],"
	" \"import_lines\": [\"import x\"],"
	" \"links\": [\"/lib\\tusr/lib\"]}";

/* The valid answer with one key changed, or removed if the value is NULL. */
static json_t *
changed(const char *key, const char *json)
{
	json_t *doc = json_loads(answer, 0, NULL);

	assert_non_null(doc);
	if (json)
		assert_int_equal(
			json_object_set_new(
				doc, key,
				json_loads(json, JSON_DECODE_ANY, NULL)),
			0);
	else
		assert_int_equal(json_object_del(doc, key), 0);
	return doc;
}

/* ASan detects leaks of a refused answer. */
static void
refuse(const json_t *doc, struct remit_error *err)
{
	struct interpreter in;

	memset(err, 0, sizeof(*err));
	if (interpreter_from_json(&in, doc, err) == 0) {
		interpreter_free(&in);
		fail_msg("an answer was accepted that should be refused");
	}
	assert_true(err->message[0]);
}

static void
complete_answer_is_read_unchanged(void **state)
{
	json_auto_t *doc = json_loads(answer, 0, NULL);
	struct remit_error err;
	struct interpreter in;

	(void)state;
	assert_int_equal(interpreter_from_json(&in, doc, &err), 0);
	assert_string_equal(in.executable, "/venv/bin/python");
	assert_string_equal(in.real, "/usr/bin/python3.11");
	assert_string_equal(in.prefix, "/venv");
	assert_string_equal(in.exec_prefix, "/venv/exec");
	assert_string_equal(in.compiled, "/cache/compiled");
	assert_int_equal(in.major, 3);
	assert_int_equal(in.minor, 11);
	assert_int_equal(in.micro, 2);
	assert_int_equal(in.sys_path.count, 2);
	assert_string_equal(in.sys_path.items[1], "/venv/lib");
	assert_string_equal(in.mounts.items[0], "/usr/lib");
	assert_string_equal(in.program_mounts.items[0], "/usr/bin");
	assert_string_equal(in.program_path, "/venv/bin:/usr/bin");
	assert_string_equal(in.network_mounts.items[0], "/etc/hosts");
	assert_string_equal(in.import_lines.items[0], "import x");
	assert_string_equal(in.links.items[0], "/lib\tusr/lib");
	assert_null(in.font_cache);
	interpreter_free(&in);
	assert_null(in.executable);
	assert_int_equal(in.sys_path.count, 0);
}

static void
font_cache_is_read_if_present(void **state)
{
	json_auto_t *doc = changed("font_cache", "\"/cache/fonts\"");
	struct remit_error err;
	struct interpreter in;

	(void)state;
	assert_int_equal(interpreter_from_json(&in, doc, &err), 0);
	assert_string_equal(in.font_cache, "/cache/fonts");
	interpreter_free(&in);
}

static void
other_pythons_are_refused_by_name_with_a_remedy(void **state)
{
	static const struct {
		const char *key, *json, *words, *remedy;
	} rows[] = {
		{ "implementation", "\"pypy\"", "is pypy, not CPython",
		  "CPython" },
		{ "implementation", "\"graalpy\"", "is graalpy, not CPython",
		  "CPython" },
		{ "implementation", NULL, "is unknown, not CPython",
		  "CPython" },
		{ "implementation", "3", "is unknown, not CPython", "CPython" },
		{ "version", "[3, 8, 19]", "is Python 3.8", "3.9 or newer" },
		{ "version", "[2, 7, 18]", "is Python 2.7", "3.9 or newer" },
		{ "version", "[4, 11, 0]", "is Python 4.11", "3.9 or newer" },
		{ "free_threaded", "true", "free-threaded", "ordinary build" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_auto_t *doc = changed(rows[i].key, rows[i].json);
		struct remit_error err;

		refuse(doc, &err);
		if (err.code != REMIT_E_REFUSED ||
		    !strstr(err.message, rows[i].words))
			fail_msg("row %zu: %s", i, err.message);
		assert_string_equal(err.where, "python");
		assert_non_null(strstr(err.remedy, rows[i].remedy));
		assert_non_null(strstr(err.message, "/venv/bin/python"));
	}
}

static void
oldest_supported_python_and_newer_ones_are_accepted(void **state)
{
	static const char *const versions[] = { "[3, 9, 0]", "[3, 14, 0]",
						"[3, 99, 7]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		json_auto_t *doc = changed("version", versions[i]);
		struct remit_error err;
		struct interpreter in;

		assert_int_equal(interpreter_from_json(&in, doc, &err), 0);
		interpreter_free(&in);
	}
}

static void
an_answer_that_lacks_a_text_is_refused_and_names_it(void **state)
{
	static const char *const keys[] = { "executable", "real",
					    "prefix",	  "exec_prefix",
					    "compiled",	  "program_path" };
	static const char *const values[] = { NULL, "null", "7", "[\"x\"]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (size_t v = 0; v < ARRAY_LEN(values); v++) {
			json_auto_t *doc = changed(keys[i], values[v]);
			struct remit_error err;

			refuse(doc, &err);
			assert_int_equal(err.code, REMIT_E_INPUT);
			assert_non_null(strstr(err.message, keys[i]));
		}
}

static const char *const lists[] = { "sys_path",       "mounts",
				     "program_mounts", "network_mounts",
				     "import_lines",   "links" };

static void
list_with_a_non_string_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_auto_t *doc = changed(lists[i], "[\"a\", null]");
		struct remit_error err;

		refuse(doc, &err);
		assert_int_equal(err.code, REMIT_E_INPUT);
		assert_non_null(strstr(err.message, lists[i]));
	}
}

/* If it were accepted, a string would count as an empty list of mounts. */
static void
list_of_the_wrong_type_is_refused(void **state)
{
	static const char *const values[] = {
		"\"/usr\"", "{}", "7", "null", "true", "{\"0\": 1}"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t v = 0; v < ARRAY_LEN(values); v++) {
			json_auto_t *doc = changed(lists[i], values[v]);
			own_mem char *name = NULL;
			struct remit_error err;

			assert_true(asprintf(&name, "\"%s\"", lists[i]) > 0);
			refuse(doc, &err);
			assert_int_equal(err.code, REMIT_E_INPUT);
			assert_non_null(strstr(err.message, name));
			assert_non_null(strstr(err.message, "list"));
		}
}

static void
malformed_version_is_refused(void **state)
{
	static const char *const versions[] = {
		NULL,	     "null",	    "\"3.11\"",
		"[3, 11]",   "[]",	    "[3, 11, 2, 0]",
		"[3.5,1,1]", "[\"3\",1,1]", "{}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		json_auto_t *doc = changed("version", versions[i]);
		struct remit_error err;

		refuse(doc, &err);
		assert_int_equal(err.code, REMIT_E_INPUT);
		assert_non_null(strstr(err.message, "version"));
	}
}

static void
document_that_is_not_an_object_is_refused(void **state)
{
	static const char *const texts[] = { "[]", "null", "7", "\"x\"", "{}" };
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		json_auto_t *doc = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		refuse(doc, &err);
		assert_int_equal(err.code, REMIT_E_INPUT);
	}
	refuse(NULL, &err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_answer_is_read_unchanged),
		cmocka_unit_test(font_cache_is_read_if_present),
		cmocka_unit_test(
			other_pythons_are_refused_by_name_with_a_remedy),
		cmocka_unit_test(
			oldest_supported_python_and_newer_ones_are_accepted),
		cmocka_unit_test(
			an_answer_that_lacks_a_text_is_refused_and_names_it),
		cmocka_unit_test(list_with_a_non_string_is_refused),
		cmocka_unit_test(list_of_the_wrong_type_is_refused),
		cmocka_unit_test(malformed_version_is_refused),
		cmocka_unit_test(document_that_is_not_an_object_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
