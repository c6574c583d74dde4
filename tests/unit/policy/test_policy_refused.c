/* policy: documents that are refused, with position and reason. */
#include "policy/fields/field.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After the headers that declare fail(), which cmocka makes a macro. */
#include <cmocka.h>

static void
take(struct policy *p, const char *text)
{
	struct remit_error err;

	if (policy_parse(p, text, strlen(text), "policy.json", &err) < 0)
		fail_msg("%s: %s", text, err.message);
}

static bool
all_defaults(const struct policy *p)
{
	for (int i = 0; i < FIELD_TOTAL; i++)
		if (!field_is_default(p, &fields[i]))
			return false;
	return true;
}

/* Checks that the document is refused with a message that begins so, and
   changes nothing. */
static void
refuse(const char *text, const char *message)
{
	own(policy) struct policy p;
	struct remit_error err = { 0 };

	assert_int_equal(policy_init(&p), 0);
	if (policy_parse(&p, text, strlen(text), "policy.json", &err) == 0)
		fail_msg("%s was taken", text);
	if (strncmp(err.message, message, strlen(message)))
		fail_msg("%s\nwanted %s\ngot    %s", text, message,
			 err.message);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_true(all_defaults(&p));
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_true(field_is_default(&p, &fields[i]));
}

struct row {
	const char *text;
	const char *message;
};

#define refuse_rows(rows)                               \
	for (size_t i_ = 0; i_ < ARRAY_LEN(rows); i_++) \
	refuse((rows)[i_].text, (rows)[i_].message)

static void
an_unknown_field_is_an_error_with_its_line_and_the_nearest_name(void **state)
{
	static const struct row rows[] = {
		{ "{\n\"cpus\": 1,\n\"memroy_bytes\": 1\n}",
		  "policy.json:3: unknown field \"memroy_bytes\" (did you "
		  "mean \"memory_bytes\"?)" },
		{ "{\"memory\": 1}", "policy.json:1: unknown field \"memory\" "
				     "(did you mean \"memory_bytes\"?)" },
		{ "{\"qqqqqqqq\": 1}", "policy.json:1: unknown field "
				       "\"qqqqqqqq\"" },
		{ "{\"\": 1}", "policy.json:1: unknown field \"\"" },
		{ "{\"\\u001b[2J\": 1}",
		  "policy.json:1: unknown field \"?[2J\"" },
		{ "{\"Timeout\": 1}", "policy.json:1: unknown field "
				      "\"Timeout\" (did you mean "
				      "\"timeout\"?)" },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_duplicate_key_is_an_error_with_its_line(void **state)
{
	static const struct row rows[] = {
		{ "{\n\"cpus\": 1,\n\"cpus\": 1\n}", "policy.json:3:" },
		{ "{\"env\": {\"A\": \"\",\n \"A\": \"\"}}", "policy.json:2:" },
		{ "{\"preset\": \"strict\", \"preset\": \"default\"}",
		  "policy.json:1:" },
	};
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	refuse_rows(rows);
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(policy_parse(&p, rows[0].text, strlen(rows[0].text),
				      "job", &err),
			 -1);
	assert_non_null(strstr(err.message, "duplicate object key"));
}

static void
malformed_json_is_an_error_with_line_and_column(void **state)
{
	static const struct row rows[] = {
		{ "", "policy.json:1:" },
		{ "{", "policy.json:1:1: " },
		{ "{\n  \"cpus\": 1,\n}", "policy.json:3:1: " },
		{ "{} x", "policy.json:1:4: " },
		{ "{\"cpus\": NaN}", "policy.json:1:" },
		{ "{\"cpus\": 01}", "policy.json:1:" },
		{ "{\"cpus\": 1e999}", "policy.json:1:" },
		{ "{\"cpus\": 99999999999999999999}", "policy.json:1:" },
		{ "{'cpus': 1}", "policy.json:1:" },
		{ "{\"python\": \"\xff\"}", "policy.json:1:" },
		{ "{\"a\\u0000b\": 1}", "policy.json:1:" },
		{ "# policy", "policy.json:1:" },
		{ "[]", "policy.json: a policy must be a JSON object" },
		{ "[1, 2]", "policy.json: a policy must be a JSON object" },
		{ "[[[[[[[[[]]]]]]]]]", "policy.json: the document is nested "
					"too deep" },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_value_of_the_wrong_type_is_an_error(void **state)
{
	static const struct row rows[] = {
		{ "{\"network_access\": 1}",
		  "policy.json:1: network_access: must be true, false, "
		  "\"loopback\" or \"host\", not a "
		  "number" },
		{ "{\"network_access\": \"true\"}",
		  "policy.json:1: network_access: must be true, false, "
		  "\"loopback\" or \"host\", not a "
		  "string" },
		{ "{\"network_access\": \"host\\u0000x\"}",
		  "policy.json:1: network_access: the string contains a NUL" },
		{ "{\"network_access\": null}",
		  "policy.json:1: network_access: must be true, false, "
		  "\"loopback\" or \"host\", not "
		  "null" },
		{ "{\n\n\"memory_bytes\": true}",
		  "policy.json:3: memory_bytes: must be a whole number of "
		  "bytes, or a string like \"512M\", not true" },
		{ "{\"memory_bytes\": 1e9}",
		  "policy.json:1: memory_bytes: must be a whole number of" },
		{ "{\"timeout\": []}", "policy.json:1: timeout: must be a "
				       "number of seconds, or a string like "
				       "\"1.5s\", not a list" },
		{ "{\"processes\": \"64\"}",
		  "policy.json:1: processes: must be a whole number, not a "
		  "string" },
		{ "{\"processes\": 1.5}",
		  "policy.json:1: processes: must be a whole number" },
		{ "{\"open_files\": \"unlimited\"}",
		  "policy.json:1: open_files: must be a whole number, not a "
		  "string" },
		{ "{\"tier\": 3}",
		  "policy.json:1: tier: must be a string, not a number" },
		{ "{\"python\": {}}",
		  "policy.json:1: python: must be a string, not an object" },
		{ "{\"preload\": \"a\"}",
		  "policy.json:1: preload: must be a list, not a string" },
		{ "{\"artifact_export_paths\": [\"a\", 1]}",
		  "policy.json:1: artifact_export_paths[1]: must be a string, "
		  "not a number" },
		{ "{\"env\": [\"A=b\"]}", "policy.json:1: env: must be an "
					  "object of strings, not a list" },
		{ "{\"env\": {\"A\": 1}}",
		  "policy.json:1: env[\"A\"]: must be a string, not a number" },
		{ "{\"mounts\": {}}",
		  "policy.json:1: mounts: must be a list, not an object" },
		{ "{\"mounts\": [\"/a:/b\"]}",
		  "policy.json:1: mounts[0]: must be an object, not a string" },
		{ "{\"preset\": 1}",
		  "policy.json:1: preset: must be the name of a preset" },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_limit_out_of_range_zero_or_negative_is_an_error(void **state)
{
	static const struct row rows[] = {
		{ "{\"memory_bytes\": 0}", "policy.json:1: memory_bytes: "
					   "\"0\" is zero, and zero is never" },
		{ "{\"memory_bytes\": -1}",
		  "policy.json:1: memory_bytes: \"-1\" is negative" },
		{ "{\"memory_bytes\": 1}",
		  "policy.json:1: memory_bytes: 1 byte is too small: the least "
		  "is 16 MiB" },
		{ "{\"memory_bytes\": 9223372036854775807}",
		  "policy.json:1: memory_bytes: 9223372036854775807 bytes is "
		  "too large: the most is 1 TiB" },
		{ "{\"memory_bytes\": \"\"}",
		  "policy.json:1: memory_bytes: an empty text is not a size" },
		{ "{\"memory_bytes\": \"much\"}",
		  "policy.json:1: memory_bytes: \"much\" is not a size" },
		{ "{\"memory_bytes\": \"Unlimited\"}",
		  "policy.json:1: memory_bytes: \"Unlimited\" is not a size" },
		{ "{\"code_bytes\": \"unlimited\"}",
		  "policy.json:1: code_bytes: this limit cannot be unlimited" },
		{ "{\"timeout\": 0}", "policy.json:1: timeout: \"0\" is zero" },
		{ "{\"timeout\": 0.0}", "policy.json:1: timeout: \"0.000000\" "
					"is zero" },
		{ "{\"timeout\": -0.5}",
		  "policy.json:1: timeout: \"-0.500000\" is negative" },
		{ "{\"timeout\": 1e-9}", "policy.json:1: timeout: \"0.000000\" "
					 "is zero" },
		{ "{\"timeout\": 0.0015}",
		  "policy.json:1: timeout: \"0.001500\" is finer than a "
		  "millisecond" },
		{ "{\"timeout\": 1e300}",
		  "policy.json:1: timeout: the number is too large" },
		{ "{\"timeout\": -1e300}",
		  "policy.json:1: timeout: the number is too large" },
		{ "{\"timeout\": 86401}", "policy.json:1: timeout: 86401 s is "
					  "too large: the most is 24 h" },
		{ "{\"timeout\": 9223372036854775807}",
		  "policy.json:1: timeout: \"9223372036854775807\" is too "
		  "large for a time" },
		{ "{\"processes\": 0}",
		  "policy.json:1: processes: \"0\" is zero" },
		{ "{\"cpus\": 2000}", "policy.json:1: cpus: 2000 is too large: "
				      "the most is 1024" },
		{ "{\"tier\": \"steel\"}",
		  "policy.json:1: tier: \"steel\" is not one of static," },
		{ "{\"preset\": \"loose\"}",
		  "policy.json:1: preset: \"loose\" is not one of strict," },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_nul_in_a_string_is_an_error(void **state)
{
	static const struct row rows[] = {
		{ "{\"python\": \"a\\u0000b\"}",
		  "policy.json:1: python: the string contains a NUL" },
		{ "{\"artifact_export_paths\": [\"a\\u0000\"]}",
		  "policy.json:1: artifact_export_paths[0]: the string "
		  "contains a NUL" },
		{ "{\"env\": {\"A\": \"\\u0000\"}}",
		  "policy.json:1: env[\"A\"]: the string contains a NUL" },
		{ "{\"mounts\": [{\"host\": \"/a\\u0000\", \"jail\": \"/b\"}]}",
		  "policy.json:1: mounts[0].host: the string contains a NUL" },
		{ "{\"memory_bytes\": \"1G\\u0000\"}",
		  "policy.json:1: memory_bytes: the string contains a NUL" },
		{ "{\"preset\": \"strict\\u0000\"}",
		  "policy.json:1: preset: must be the name" },
	};

	(void)state;
	refuse_rows(rows);
}

#define MOUNT(rest) "{\n\"mounts\": [{\"host\": \"/a\", " rest "}]}"

static void
a_wrong_path_is_an_error_with_its_index(void **state)
{
	static const struct row rows[] = {
		{ "{\"filesystem_read_roots\": [\"/a\", \"b\"]}",
		  "policy.json:1: filesystem_read_roots[1]: \"b\" is not "
		  "absolute" },
		{ "{\"filesystem_read_roots\": [\"\"]}",
		  "policy.json:1: filesystem_read_roots[0]: the path is "
		  "empty" },
		{ "{\"filesystem_write_roots\": [\"/a/../b\"]}",
		  "policy.json:1: filesystem_write_roots[0]: \"/a/../b\" "
		  "contains \"..\"" },
		{ "{\"filesystem_read_roots\": [\"/\"]}",
		  "policy.json:1: filesystem_read_roots[0]: \"/\" is" },
		{ "{\"python\": \"./python\"}",
		  "policy.json:1: python: \"./python\" is not absolute" },
		{ "{\"mounts\": [{\"host\": \"a\", \"jail\": \"/b\"}]}",
		  "policy.json:1: mounts[0].host: \"a\" is not absolute" },
		{ MOUNT("\"jail\": \"b\""),
		  "policy.json:2: mounts[0].jail: \"b\" is not absolute" },
		{ MOUNT("\"jail\": \"/b/..\""),
		  "policy.json:2: mounts[0].jail: \"/b/..\" contains" },
		{ MOUNT("\"jail\": \"/\""),
		  "policy.json:2: mounts[0].jail: \"/\" is the root" },
		{ MOUNT("\"jail\": \"/proc/x\""),
		  "policy.json:2: mounts[0].jail: \"/proc/x\" is in /proc" },
		{ MOUNT("\"jail\": \"/dev\""),
		  "policy.json:2: mounts[0].jail: \"/dev\" is in /dev" },
		{ MOUNT("\"jail\": \"/sys\""),
		  "policy.json:2: mounts[0].jail: \"/sys\" is in /sys" },
		{ MOUNT("\"jail\": \"/.remit\""),
		  "policy.json:2: mounts[0].jail: \"/.remit\" is in /.remit" },
		{ MOUNT("\"jail\": \"/tmp/\""),
		  "policy.json:2: mounts[0].jail: \"/tmp\" is the jail's own" },
		{ MOUNT("\"jail\": \"/workspace\""),
		  "policy.json:2: mounts[0].jail: \"/workspace\" is the" },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_wrong_member_of_a_mount_is_an_error_with_its_index(void **state)
{
	static const struct row rows[] = {
		{ "{\"mounts\": [{\"host\": \"/a\", \"jail\": \"/b\"},"
		  " {\"host\": \"/a\", \"jail\": \"/c\", \"mode\": \"x\"}]}",
		  "policy.json:1: mounts[1].mode: \"x\" is not one of ro, rw, "
		  "overlay, direct" },
		{ MOUNT("\"jail\": \"/b\", \"mode\": null"),
		  "policy.json:2: mounts[0].mode: must be a string, not "
		  "null" },
		{ MOUNT("\"mode\": \"ro\""),
		  "policy.json:2: mounts[0].jail: is missing" },
		{ "{\"mounts\": [{}]}",
		  "policy.json:1: mounts[0].host: is missing" },
		{ MOUNT("\"jail\": \"/b\", \"readonly\": true"),
		  "policy.json:2: mounts[0]: unknown member \"readonly\"" },
		{ MOUNT("\"jail\": \"/b\", \"max_bytes\": 0"),
		  "policy.json:2: mounts[0].max_bytes: \"0\" is zero" },
		{ MOUNT("\"jail\": \"/b\", \"max_bytes\": \"unlimited\""),
		  "policy.json:2: mounts[0].max_bytes: this limit cannot" },
		{ MOUNT("\"jail\": \"/b\", \"max_bytes\": []"),
		  "policy.json:2: mounts[0].max_bytes: must be a whole" },
	};

	(void)state;
	refuse_rows(rows);
}

static void
a_wrong_name_in_env_is_an_error(void **state)
{
	static const struct row rows[] = {
		{ "{\"env\": {\"1A\": \"\"}}",
		  "policy.json:1: env[\"1A\"]: the name of a variable" },
		{ "{\"env\": {\"\": \"\"}}",
		  "policy.json:1: env[\"\"]: the name of a variable" },
		{ "{\"env\": {\"A=B\": \"\"}}",
		  "policy.json:1: env[\"A=B\"]: the name of a variable" },
		{ "{\"env\": {\"A-B\": \"\"}}",
		  "policy.json:1: env[\"A-B\"]: the name of a variable" },
	};

	(void)state;
	refuse_rows(rows);
}

/* {"<field>": [<entry> n times]} */
static char *
long_list(const char *field, const char *entry, size_t n)
{
	char *text = malloc(64 + n * (strlen(entry) + 1));
	char *end;

	if (!text)
		abort();
	end = text + sprintf(text, "{\"%s\": [%s", field, entry);
	for (size_t i = 1; i < n; i++)
		end += sprintf(end, ",%s", entry);
	strcpy(end, "]}");
	return text;
}

static void
a_list_has_at_most_256_entries(void **state)
{
	own_mem char *most = long_list("artifact_export_paths", "\"a\"", 256);
	own_mem char *more = long_list("artifact_export_paths", "\"a\"", 257);
	own_mem char *mounts = long_list(
		"mounts", "{\"host\": \"/a\", \"jail\": \"/b\"}", 257);
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, most);
	assert_int_equal(p.artifact_export_paths.count, 256);
	refuse(more,
	       "policy.json:1: artifact_export_paths: at most 256 entries");
	refuse(mounts, "policy.json:1: mounts: at most 256 entries");
}

static void
an_env_has_at_most_256_variables(void **state)
{
	char text[8192] = "{\"env\": {\"A\": \"\"";
	char *end = text + strlen(text);

	(void)state;
	for (int i = 0; i < 256; i++)
		end += sprintf(end, ", \"A%d\": \"\"", i);
	strcpy(end, "}}");
	refuse(text, "policy.json:1: env[\"A255\"]: at most 256 entries");
}

static void
a_text_is_at_most_64_kib_and_a_path_4095_bytes(void **state)
{
	size_t n = 64 * 1024 + 1;
	own_mem char *text = malloc(n + 64);
	char *end = text + sprintf(text, "{\"artifact_export_paths\": [\"");

	(void)state;
	memset(end, 'a', n);
	strcpy(end + n, "\"]}");
	refuse(text, "policy.json:1: artifact_export_paths[0]: the text is "
		     "longer than 64 KiB");
	end = text + sprintf(text, "{\"filesystem_read_roots\": [\"/");
	memset(end, 'a', 4095);
	strcpy(end + 4095, "\"]}");
	refuse(text, "policy.json:1: filesystem_read_roots[0]: the path is "
		     "longer than 4095 bytes");
}

static void
a_document_is_at_most_1_mib(void **state)
{
	size_t most = 1024 * 1024;
	own_mem char *text = malloc(most + 2);
	own(policy) struct policy p;

	(void)state;
	memset(text, ' ', most + 1);
	text[0] = '{';
	text[1] = '}';
	text[most + 1] = '\0';
	refuse(text, "policy.json: a policy document is at most 1 MiB");
	text[most] = '\0';
	assert_int_equal(policy_init(&p), 0);
	take(&p, text);
}

static void
an_error_in_the_last_field_leaves_the_first_unchanged(void **state)
{
	(void)state;
	refuse("{\"preset\": \"strict\", \"cpus\": 7, "
	       "\"artifact_export_paths\": [\"a\"], "
	       "\"timeout\": 0}",
	       "policy.json:1: timeout: ");
}

static void
the_error_names_the_field_for_programs(void **state)
{
	static const char text[] = "{\"mounts\": 1}";
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(
		policy_parse(&p, text, strlen(text), "policy.json", &err), -1);
	assert_string_equal(err.where, "mounts");
}

static void
a_key_with_escapes_is_the_same_key_and_has_a_line(void **state)
{
	(void)state;
	refuse("{\n\n\"\\u0063pus\": 0}", "policy.json:3: cpus: \"0\" is zero");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_unknown_field_is_an_error_with_its_line_and_the_nearest_name),
		cmocka_unit_test(a_duplicate_key_is_an_error_with_its_line),
		cmocka_unit_test(
			malformed_json_is_an_error_with_line_and_column),
		cmocka_unit_test(a_value_of_the_wrong_type_is_an_error),
		cmocka_unit_test(
			a_limit_out_of_range_zero_or_negative_is_an_error),
		cmocka_unit_test(a_nul_in_a_string_is_an_error),
		cmocka_unit_test(a_wrong_path_is_an_error_with_its_index),
		cmocka_unit_test(
			a_wrong_member_of_a_mount_is_an_error_with_its_index),
		cmocka_unit_test(a_wrong_name_in_env_is_an_error),
		cmocka_unit_test(a_list_has_at_most_256_entries),
		cmocka_unit_test(an_env_has_at_most_256_variables),
		cmocka_unit_test(
			a_text_is_at_most_64_kib_and_a_path_4095_bytes),
		cmocka_unit_test(a_document_is_at_most_1_mib),
		cmocka_unit_test(
			an_error_in_the_last_field_leaves_the_first_unchanged),
		cmocka_unit_test(the_error_names_the_field_for_programs),
		cmocka_unit_test(
			a_key_with_escapes_is_the_same_key_and_has_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
