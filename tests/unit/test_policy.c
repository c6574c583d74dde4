/* policy: documents, presets and files. */
#include "field.h"
#include "policy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* The document is refused with this start of a message, and changes nothing. */
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
	assert_int_equal(p.set, 0);
}

struct row {
	const char *text;
	const char *message;
};

#define refuse_rows(rows)                               \
	for (size_t i_ = 0; i_ < ARRAY_LEN(rows); i_++) \
	refuse((rows)[i_].text, (rows)[i_].message)

static void
a_fresh_policy_has_every_default(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_true(all_defaults(&p));
	assert_int_equal(p.set, 0);
	assert_int_equal(p.tier, TIER_LOCAL);
	assert_string_equal(p.python, "python3");
	assert_false(p.network_access);
	assert_int_equal(p.timeout_ms, 30000);
	assert_int_equal(p.cpu_ms, 30000);
	assert_int_equal(p.cpus, 2);
	assert_int_equal(p.memory_bytes, 512 << 20);
	assert_int_equal(p.processes, 64);
	assert_int_equal(p.disk_bytes, 256 << 20);
	assert_int_equal(p.files, 10000);
	assert_int_equal(p.open_files, 256);
	assert_int_equal(p.output_ceiling, 64);
	assert_int_equal(p.stdin_bytes, 16 << 20);
	assert_int_equal(p.tool_wait_ms, 300000);
	assert_int_equal(p.session_idle_ms, 600000);
}

static void
an_empty_document_changes_nothing(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, " {\n} ");
	assert_true(all_defaults(&p));
	assert_int_equal(p.set, 0);
}

static void
fields_are_read_and_marked_as_set(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "{\"memory_bytes\": \"1G\", \"timeout\": 1.5,"
		 " \"cpu_seconds\": \"200ms\", \"network_access\": true,"
		 " \"env\": {\"A\": \"b\"}, \"allowed_imports\": [\"math\"],"
		 " \"mounts\": [{\"host\": \"/a\", \"jail\": \"/b\","
		 " \"max_bytes\": \"1M\"}]}");
	assert_int_equal(p.memory_bytes, 1 << 30);
	assert_int_equal(p.timeout_ms, 1500);
	assert_int_equal(p.cpu_ms, 200);
	assert_true(p.network_access);
	assert_string_equal(p.env.items[0], "A=b");
	assert_string_equal(p.allowed_imports.items[0], "math");
	assert_int_equal(p.mounts.items[0].mode, MOUNT_RO);
	assert_int_equal(p.mounts.items[0].max_bytes, 1 << 20);
	assert_int_equal(p.set, UINT64_C(1) << F_MEMORY_BYTES |
					UINT64_C(1) << F_TIMEOUT |
					UINT64_C(1) << F_CPU_SECONDS |
					UINT64_C(1) << F_NETWORK_ACCESS |
					UINT64_C(1) << F_ENV |
					UINT64_C(1) << F_ALLOWED_IMPORTS |
					UINT64_C(1) << F_MOUNTS);
}

static void
a_field_set_to_its_default_is_marked_as_set(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "{\"cpus\": 2}");
	assert_int_equal(p.set, UINT64_C(1) << F_CPUS);
}

static void
a_list_in_a_document_replaces_the_list(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "{\"tools\": [\"a\", \"b\"], \"env\": {\"A\": \"1\"}}");
	take(&p, "{\"tools\": [\"c\"], \"env\": {}}");
	assert_int_equal(p.tools.count, 1);
	assert_string_equal(p.tools.items[0], "c");
	assert_int_equal(p.env.count, 0);
}

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
text_that_is_no_json_is_an_error_with_line_and_column(void **state)
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
		{ "[]", "policy.json: a policy is a JSON object" },
		{ "[1, 2]", "policy.json: a policy is a JSON object" },
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
		  "policy.json:1: network_access: must be true or false, not a "
		  "number" },
		{ "{\"network_access\": \"true\"}",
		  "policy.json:1: network_access: must be true or false, not a "
		  "string" },
		{ "{\"network_access\": null}",
		  "policy.json:1: network_access: must be true or false, not "
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
		{ "{\"processes\": \"unlimited\"}",
		  "policy.json:1: processes: must be a whole number, not a "
		  "string" },
		{ "{\"tier\": 3}",
		  "policy.json:1: tier: must be a string, not a number" },
		{ "{\"python\": {}}",
		  "policy.json:1: python: must be a string, not an object" },
		{ "{\"tools\": \"a\"}",
		  "policy.json:1: tools: must be a list, not a string" },
		{ "{\"tools\": [\"a\", 1]}",
		  "policy.json:1: tools[1]: must be a string, not a number" },
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
		{ "{\"disk_bytes\": \"unlimited\"}",
		  "policy.json:1: disk_bytes: this limit cannot be unlimited" },
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
		{ "{\"tools\": [\"a\\u0000\"]}",
		  "policy.json:1: tools[0]: the string contains a NUL" },
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
		  "policy.json:2: mounts[0].jail: \"/\" is the jail's own" },
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
	own_mem char *most = long_list("tools", "\"a\"", 256);
	own_mem char *more = long_list("tools", "\"a\"", 257);
	own_mem char *mounts = long_list(
		"mounts", "{\"host\": \"/a\", \"jail\": \"/b\"}", 257);
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, most);
	assert_int_equal(p.tools.count, 256);
	refuse(more, "policy.json:1: tools: at most 256 entries");
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
	char *end = text + sprintf(text, "{\"tools\": [\"");

	(void)state;
	memset(end, 'a', n);
	strcpy(end + n, "\"]}");
	refuse(text, "policy.json:1: tools[0]: a text is at most 64 KiB");
	end = text + sprintf(text, "{\"filesystem_read_roots\": [\"/");
	memset(end, 'a', 4095);
	strcpy(end + 4095, "\"]}");
	refuse(text, "policy.json:1: filesystem_read_roots[0]: a path is at "
		     "most 4095 bytes");
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
	refuse("{\"preset\": \"strict\", \"cpus\": 7, \"tools\": [\"a\"], "
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

static void
every_preset_sets_what_its_table_says(void **state)
{
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(policy_preset(&p, "default", &err), 0);
	assert_true(all_defaults(&p));
	assert_int_equal(p.set, 0);

	assert_int_equal(policy_preset(&p, "strict", &err), 0);
	assert_int_equal(p.memory_bytes, 256 << 20);
	assert_int_equal(p.timeout_ms, 10000);
	assert_int_equal(p.cpu_ms, 10000);
	assert_int_equal(p.processes, 16);
	assert_int_equal(p.disk_bytes, 64 << 20);
	assert_int_equal(p.stdout_max_bytes, 256 << 10);
	assert_int_equal(p.stderr_max_bytes, 256 << 10);
	assert_int_equal(p.cpus, 1);
	assert_int_equal(__builtin_popcountll(p.set), 8);

	assert_int_equal(policy_preset(&p, "scientific", &err), 0);
	assert_int_equal(p.memory_bytes, UINT64_C(2) << 30);
	assert_int_equal(p.disk_bytes, 1 << 30);
	assert_int_equal(p.processes, 128);
	assert_int_equal(p.timeout_ms, 120000);
	assert_int_equal(p.cpu_ms, 240000);
	assert_int_equal(p.cpus, 4);
	assert_int_equal(p.open_files, 512);
	assert_int_equal(p.file_bytes, 1 << 30);
	/* What only strict names stays. */
	assert_int_equal(p.stdout_max_bytes, 256 << 10);

	assert_int_equal(policy_preset(&p, "Strict", &err), -1);
	assert_non_null(strstr(err.message, "is not one of strict"));
}

static void
every_preset_has_a_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; policy_preset_names[i]; i++)
		assert_non_null(policy_preset_sentence(policy_preset_names[i]));
	assert_null(policy_preset_sentence("loose"));
}

static void
a_preset_is_applied_first_wherever_it_stands(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "{\"cpus\": 7, \"preset\": \"strict\", \"timeout\": 3}");
	assert_int_equal(p.cpus, 7);
	assert_int_equal(p.timeout_ms, 3000);
	assert_int_equal(p.processes, 16);
}

static void
every_field_survives_the_round_trip_in_one_document(void **state)
{
	static const char text[] =
		"{\"tier\": \"vm\", \"python\": \"/opt/p\","
		"\"filesystem_read_roots\": [\"/a\", \"/b c\"],"
		"\"filesystem_write_roots\": [\"/w\"],"
		"\"mounts\": [{\"host\": \"/h\", \"jail\": \"/j\","
		" \"mode\": \"overlay\", \"max_bytes\": 65536},"
		" {\"host\": \"/h\", \"jail\": \"/k\"}],"
		"\"network_access\": true, \"network_allow\": [\"h:1\"],"
		"\"package_installation\": true, \"packages\": [\"x==1\"],"
		"\"subprocess_execution\": true, \"env_var_access\": true,"
		"\"env\": {\"A\": \"=\", \"B\": \"\\u00e4\\n\"},"
		"\"timeout\": 0.1, \"cpu_seconds\": \"unlimited\","
		"\"cpu_fallback\": \"per_process\", \"cpus\": 3,"
		"\"memory_bytes\": \"unlimited\","
		"\"memory_fallback\": \"per_process\", \"processes\": 3,"
		"\"disk_bytes\": \"1M\", \"files\": 99, \"file_bytes\": 5000,"
		"\"open_files\": 17, \"stdout_max_bytes\": 2000,"
		"\"stderr_max_bytes\": 2001, \"output_ceiling\": 2,"
		"\"code_bytes\": 1, \"stdin_bytes\": 2, \"input_bytes\": 3,"
		"\"value_bytes\": 4, \"artifact_export_paths\": [\"out/*\"],"
		"\"allowed_imports\": [\"a\"], \"blocked_imports\": [\"b\"],"
		"\"allowed_builtins\": [\"c\"], \"blocked_builtins\": [\"d\"],"
		"\"allowed_os_attrs\": [\"e\"], \"tools\": [\"f\"],"
		"\"tool_calls\": 5, \"tool_wait\": 16.683,"
		"\"session_idle\": 1.001, \"branches\": 6,"
		"\"preload\": [\"g\"]}";
	own(policy) struct policy a, b;
	json_auto_t *first = NULL;
	json_auto_t *second = NULL;
	own_mem char *dumped = NULL;

	(void)state;
	assert_int_equal(policy_init(&a), 0);
	assert_int_equal(policy_init(&b), 0);
	take(&a, text);
	for (int i = 0; i < FIELD_TOTAL; i++)
		if (field_is_default(&a, &fields[i]))
			fail_msg("%s is not in the test", fields[i].name);
	first = policy_to_json(&a);
	dumped = json_dumps(first, JSON_REAL_PRECISION(15));
	take(&b, dumped);
	second = policy_to_json(&b);
	assert_true(json_equal(first, second));
	assert_int_equal(b.timeout_ms, 100);
	assert_int_equal(b.tool_wait_ms, 16683);
	assert_true(b.memory_bytes == POLICY_UNLIMITED);
	assert_int_equal(b.set, (UINT64_C(1) << FIELD_TOTAL) - 1);
}

static void
every_millisecond_survives_the_round_trip(void **state)
{
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	for (uint64_t ms = 1; ms <= 86400000; ms += ms < 3000 ? 1 : 99991) {
		json_auto_t *value = NULL;

		p.timeout_ms = ms;
		value = field_to_json(&p, &fields[F_TIMEOUT]);
		p.timeout_ms = 0;
		assert_int_equal(
			field_set_json(&p, &fields[F_TIMEOUT], value, &err), 0);
		assert_int_equal(p.timeout_ms, ms);
	}
}

static void
json_has_every_field_in_the_order_of_the_table(void **state)
{
	own(policy) struct policy p;
	json_auto_t *root = NULL;
	const char *key;
	json_t *value;
	int i = 0;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	root = policy_to_json(&p);
	json_object_foreach(root, key, value)
		assert_string_equal(key, fields[i++].name);
	assert_int_equal(i, FIELD_TOTAL);
}

static void
a_copy_is_equal_and_independent(void **state)
{
	own(policy) struct policy a, b;
	json_auto_t *ja = NULL;
	json_auto_t *jb = NULL;

	(void)state;
	assert_int_equal(policy_init(&a), 0);
	take(&a, "{\"tools\": [\"x\"], \"mounts\": [{\"host\": \"/a\", "
		 "\"jail\": \"/b\"}], \"cpus\": 9, \"python\": \"p\"}");
	assert_int_equal(policy_copy(&b, &a), 0);
	assert_int_equal(a.set, b.set);
	ja = policy_to_json(&a);
	jb = policy_to_json(&b);
	assert_true(json_equal(ja, jb));
	take(&b, "{\"tools\": []}");
	assert_int_equal(a.tools.count, 1);
}

/* A directory for the tests of files, emptied at the end. */
static char dir[] = "/tmp/remit_test_policy.XXXXXX";

static const char *
in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
write_file(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
refuse_file(const char *path, const char *words)
{
	own(policy) struct policy p;
	struct remit_error err;

	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(policy_read_file(&p, path, &err), -1);
	if (!strstr(err.message, words))
		fail_msg("%s", err.message);
	assert_int_equal(err.code, REMIT_E_INPUT);
}

static int
make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int
remove_dir(void **state)
{
	static const char *const names[] = { "good.json", "bad.json",
					     "big.json",  "link.json",
					     "loop.json", "fifo.json" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(in_dir(names[i]));
	return rmdir(dir);
}

static void
a_file_is_read_also_through_a_link(void **state)
{
	static const char text[] = "{\"cpus\": 5}\n";
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	write_file("good.json", text, strlen(text));
	assert_int_equal(policy_read_file(&p, in_dir("good.json"), &err), 0);
	assert_int_equal(p.cpus, 5);
	assert_int_equal(symlink("good.json", in_dir("link.json")), 0);
	assert_int_equal(policy_read_file(&p, in_dir("link.json"), &err), 0);
}

static void
an_error_in_a_file_names_the_file_and_the_line(void **state)
{
	static const char text[] = "{\n\"cpus\": 0\n}\n";
	own(policy) struct policy p;
	struct remit_error err;
	char start[300];

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	write_file("bad.json", text, strlen(text));
	assert_int_equal(policy_read_file(&p, in_dir("bad.json"), &err), -1);
	snprintf(start, sizeof(start), "%s:2: cpus: \"0\" is zero",
		 in_dir("bad.json"));
	assert_memory_equal(err.message, start, strlen(start));
}

static void
what_is_no_regular_file_is_an_error(void **state)
{
	(void)state;
	refuse_file(in_dir("missing.json"), "No such file or directory");
	refuse_file(dir, "it is a directory");
	refuse_file("/dev/null", "it is not a regular file");
	refuse_file("", "No such file or directory");
	assert_int_equal(mkfifo(in_dir("fifo.json"), 0600), 0);
	refuse_file(in_dir("fifo.json"), "it is not a regular file");
	assert_int_equal(symlink("loop.json", in_dir("loop.json")), 0);
	refuse_file(in_dir("loop.json"), "Too many levels of symbolic links");
}

static void
a_file_is_at_most_1_mib(void **state)
{
	size_t n = 1024 * 1024 + 1;
	own_mem char *text = malloc(n);

	(void)state;
	memset(text, ' ', n);
	memcpy(text, "{}", 2);
	write_file("big.json", text, n);
	refuse_file(in_dir("big.json"), "it is larger than 1 MiB");
	write_file("big.json", text, n - 1);
	{
		own(policy) struct policy p;
		struct remit_error err;

		assert_int_equal(policy_init(&p), 0);
		assert_int_equal(policy_read_file(&p, in_dir("big.json"), &err),
				 0);
	}
}

static void
a_file_with_a_nul_byte_is_no_json(void **state)
{
	(void)state;
	write_file("bad.json", "{\"cpus\"\0: 1}", 12);
	refuse_file(in_dir("bad.json"), "bad.json:1:");
	write_file("bad.json", "{}\0", 3);
	refuse_file(in_dir("bad.json"), "bad.json:1:");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_policy_has_every_default),
		cmocka_unit_test(an_empty_document_changes_nothing),
		cmocka_unit_test(fields_are_read_and_marked_as_set),
		cmocka_unit_test(a_field_set_to_its_default_is_marked_as_set),
		cmocka_unit_test(a_list_in_a_document_replaces_the_list),
		cmocka_unit_test(
			an_unknown_field_is_an_error_with_its_line_and_the_nearest_name),
		cmocka_unit_test(a_duplicate_key_is_an_error_with_its_line),
		cmocka_unit_test(
			text_that_is_no_json_is_an_error_with_line_and_column),
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
		cmocka_unit_test(every_preset_sets_what_its_table_says),
		cmocka_unit_test(every_preset_has_a_sentence),
		cmocka_unit_test(a_preset_is_applied_first_wherever_it_stands),
		cmocka_unit_test(
			every_field_survives_the_round_trip_in_one_document),
		cmocka_unit_test(every_millisecond_survives_the_round_trip),
		cmocka_unit_test(
			json_has_every_field_in_the_order_of_the_table),
		cmocka_unit_test(a_copy_is_equal_and_independent),
		cmocka_unit_test(a_file_is_read_also_through_a_link),
		cmocka_unit_test(
			an_error_in_a_file_names_the_file_and_the_line),
		cmocka_unit_test(what_is_no_regular_file_is_an_error),
		cmocka_unit_test(a_file_is_at_most_1_mib),
		cmocka_unit_test(a_file_with_a_nul_byte_is_no_json),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
