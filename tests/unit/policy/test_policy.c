/* policy: documents, presets and files. */
#include "policy/fields/field.h"
#include "policy/policy.h"

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

static int
count_changed(const struct policy *p)
{
	int n = 0;

	for (int i = 0; i < FIELD_TOTAL; i++)
		n += !field_is_default(p, &fields[i]);
	return n;
}

static bool
all_defaults(const struct policy *p)
{
	return count_changed(p) == 0;
}

static void
a_fresh_policy_has_every_default(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_true(all_defaults(&p));
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
}

static void
fields_are_read(void **state)
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
	assert_int_equal(count_changed(&p), 7);
}

static void
a_list_in_a_document_replaces_the_list(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "{\"artifact_export_paths\": [\"a\", \"b\"], \"env\": {\"A\": "
		 "\"1\"}}");
	take(&p, "{\"artifact_export_paths\": [\"c\"], \"env\": {}}");
	assert_int_equal(p.artifact_export_paths.count, 1);
	assert_string_equal(p.artifact_export_paths.items[0], "c");
	assert_int_equal(p.env.count, 0);
}

static void
every_preset_sets_the_fields_of_its_table(void **state)
{
	own(policy) struct policy p;
	struct remit_error err;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(policy_preset(&p, "default", &err), 0);
	assert_true(all_defaults(&p));

	assert_int_equal(policy_preset(&p, "strict", &err), 0);
	assert_int_equal(p.memory_bytes, 256 << 20);
	assert_int_equal(p.timeout_ms, 10000);
	assert_int_equal(p.cpu_ms, 10000);
	assert_int_equal(p.processes, 16);
	assert_int_equal(p.disk_bytes, 32 << 20);
	assert_int_equal(p.files, 1000);
	assert_int_equal(p.open_files, 64);
	assert_int_equal(p.stdout_max_bytes, 256 << 10);
	assert_int_equal(p.stderr_max_bytes, 256 << 10);
	assert_int_equal(p.cpus, 1);
	assert_int_equal(count_changed(&p), 10);

	assert_int_equal(policy_preset(&p, "scientific", &err), 0);
	assert_int_equal(p.memory_bytes, UINT64_C(2) << 30);
	assert_int_equal(p.disk_bytes, 1 << 30);
	assert_int_equal(p.processes, 128);
	assert_int_equal(p.timeout_ms, 120000);
	assert_int_equal(p.cpu_ms, 240000);
	assert_int_equal(p.cpus, 4);
	assert_int_equal(p.open_files, 512);
	assert_int_equal(p.file_bytes, 1 << 30);
	/* Fields that only strict sets keep their values. */
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
preset_is_applied_first_in_any_position(void **state)
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
		"\"commit\": \"always\", \"commit_names\": [\".x\"],"
		"\"workspace\": \"/mnt/data\","
		"\"workspace_aliases\": [\"/content\"],"
		"\"network_access\": \"host\", \"network_allow\": [\"h:1\"],"
		"\"network_ask\": true, \"network_proxy\": true,"
		"\"credentials\": [\"h:X=env:Y\"],"
		"\"package_installation\": true, \"packages\": [\"x==1\"],"
		"\"package_direct\": [\"/x.whl\"],"
		"\"package_index\": \"https://h/i\","
		"\"package_hosts\": [\"h:1\"], \"package_links\": [\"/l\"],"
		"\"package_offline\": true, \"package_build\": true,"
		"\"package_bytes\": 2000000, \"package_time\": 7,"
		"\"subprocess_execution\": true, "
		"\"workspace_execution\": true, \"env_var_access\": true,"
		"\"env\": {\"A\": \"=\", \"B\": \"\\u00e4\\n\"},"
		"\"timeout\": 0.1, \"cpu_seconds\": \"unlimited\","
		"\"cpu_fallback\": \"per_process\", \"cpus\": 3,"
		"\"memory_bytes\": \"unlimited\","
		"\"memory_fallback\": \"per_process\", \"processes\": 3,"
		"\"disk_bytes\": \"1M\", \"files\": 99, \"file_bytes\": 5000,"
		"\"open_files\": 17, \"stdout_max_bytes\": 2000,"
		"\"stderr_max_bytes\": 2001, \"output_ceiling\": 2,"
		"\"code_bytes\": 1, \"stdin_bytes\": 2, \"input_bytes\": 3,"
		"\"value_bytes\": 4, \"display_bytes\": 9, "
		"\"display_mode\": \"explicit\", "
		"\"artifact_export_paths\": [\"out/*\"],"
		"\"artifact_file_bytes\": 5, \"artifact_bytes\": 6,"
		"\"artifact_files\": 7, \"artifact_depth\": 8,"
		"\"artifact_time\": 0.009,"
		"\"allowed_imports\": [\"a\"], \"blocked_imports\": [\"b\"],"
		"\"allowed_builtins\": [\"c\"], \"blocked_builtins\": [\"d\"],"
		"\"validator\": \"strict\", \"allowed_nodes\": [\"h\"],"
		"\"allowed_os_attrs\": [\"e\"], \"tool_bytes\": 7,"
		"\"tool_concurrency\": 9,"
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
	take(&a, "{\"artifact_export_paths\": [\"x\"], \"mounts\": [{\"host\": "
		 "\"/a\", "
		 "\"jail\": \"/b\"}], \"cpus\": 9, \"python\": \"p\"}");
	assert_int_equal(policy_copy(&b, &a), 0);
	ja = policy_to_json(&a);
	jb = policy_to_json(&b);
	assert_true(json_equal(ja, jb));
	take(&b, "{\"artifact_export_paths\": []}");
	assert_int_equal(a.artifact_export_paths.count, 1);
}

/* A directory for tests with files, emptied at the end. */
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
policy_file_that_is_not_regular_is_an_error(void **state)
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
policy_file_with_a_nul_byte_is_invalid(void **state)
{
	(void)state;
	write_file("bad.json", "{\"cpus\"\0: 1}", 12);
	refuse_file(in_dir("bad.json"), "bad.json:1:");
	write_file("bad.json", "{}\0", 3);
	refuse_file(in_dir("bad.json"), "bad.json:1:");
}

static void
every_tier_is_found_by_its_own_name(void **state)
{
	(void)state;
	for (int i = 0; i < TIER_COUNT; i++) {
		assert_true(strlen(tiers[i].sentence) > 0);
		assert_int_equal(tier_find(tiers[i].name), i);
	}
	assert_int_equal(tier_find("local_unsafe"), TIER_UNSAFE);
	assert_int_equal(tier_find("Local"), -1);
	assert_int_equal(tier_find(""), -1);
}

/* A tier that runs code without a jail must have a name that shows this. */
static void
unsafe_tier_is_the_only_one_without_a_jail(void **state)
{
	(void)state;
	for (int i = 0; i < TIER_COUNT; i++) {
		bool built = i == TIER_STATIC || i == TIER_UNSAFE ||
			     i == TIER_LANDLOCK || i == TIER_LOCAL ||
			     i == TIER_WASM;

		assert_int_equal(tiers[i].built, built);
		if (built)
			assert_int_equal(tiers[i].jailed, i != TIER_UNSAFE);
		assert_int_equal(tiers[i].bare, i == TIER_LANDLOCK);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_policy_has_every_default),
		cmocka_unit_test(an_empty_document_changes_nothing),
		cmocka_unit_test(fields_are_read),
		cmocka_unit_test(a_list_in_a_document_replaces_the_list),
		cmocka_unit_test(every_preset_sets_the_fields_of_its_table),
		cmocka_unit_test(every_preset_has_a_sentence),
		cmocka_unit_test(preset_is_applied_first_in_any_position),
		cmocka_unit_test(
			every_field_survives_the_round_trip_in_one_document),
		cmocka_unit_test(every_millisecond_survives_the_round_trip),
		cmocka_unit_test(
			json_has_every_field_in_the_order_of_the_table),
		cmocka_unit_test(a_copy_is_equal_and_independent),
		cmocka_unit_test(a_file_is_read_also_through_a_link),
		cmocka_unit_test(
			an_error_in_a_file_names_the_file_and_the_line),
		cmocka_unit_test(policy_file_that_is_not_regular_is_an_error),
		cmocka_unit_test(a_file_is_at_most_1_mib),
		cmocka_unit_test(policy_file_with_a_nul_byte_is_invalid),
		cmocka_unit_test(every_tier_is_found_by_its_own_name),
		cmocka_unit_test(unsafe_tier_is_the_only_one_without_a_jail),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
