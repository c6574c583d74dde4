/* field: the table itself, and single values from text and from JSON. */
#include "policy/fields/field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After the headers that declare fail(), which cmocka makes a macro. */
#include <cmocka.h>

/* A value that is not the default, as a flag and as JSON, for every type. */
static const char *
other_text(const struct field *f)
{
	static const char *const texts[] = {
		[FIELD_BOOL] = "true",	      [FIELD_SWITCH] = "host",
		[FIELD_BYTES] = "32M",	      [FIELD_TIME] = "1.5s",
		[FIELD_COUNT] = "32",	      [FIELD_CHOICE] = NULL,
		[FIELD_TEXT] = "/opt/python", [FIELD_LIST] = "thing",
		[FIELD_PATHS] = "/data/x",    [FIELD_MOUNTS] = "/a:/b:overlay",
		[FIELD_ENV] = "A=b=c",
	};

	if (f->type == FIELD_CHOICE)
		return f->choices[strcmp(f->choices[0], f->fallback) == 0];
	return texts[f->type];
}

static void
set(struct policy *p, const struct field *f, const char *text)
{
	struct remit_error err;

	if (field_set_text(p, f, text, &err) < 0)
		fail_msg("%s: %s", f->name, err.message);
}

static void
refuse_text(enum field_id id, const char *text, const char *message)
{
	own(policy) struct policy p;
	struct remit_error err;

	assert_int_equal(policy_init(&p), 0);
	if (field_set_text(&p, &fields[id], text, &err) == 0)
		fail_msg("%s was taken", text);
	if (strncmp(err.message, message, strlen(message)))
		fail_msg("%s", err.message);
	assert_int_equal(err.code, REMIT_E_INPUT);
	assert_string_equal(err.where, fields[id].name);
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_true(field_is_default(&p, &fields[i]));
}

static void
every_row_of_the_table_is_complete(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];
		bool number = f->type == FIELD_BYTES || f->type == FIELD_TIME ||
			      f->type == FIELD_COUNT;

		assert_non_null(f->name);
		assert_non_null(f->short_name);
		assert_non_null(f->fallback);
		assert_non_null(f->sentence);
		assert_true(f->sentence[0] >= 'a' && f->sentence[0] <= 'z');
		assert_int_equal(f->value_name == NULL, field_is_switch(f));
		assert_int_equal(f->choices != NULL,
				 f->type == FIELD_CHOICE ||
					 f->type == FIELD_SWITCH);
		assert_int_equal(f->max != 0, number);
		assert_true(!number || (f->min >= 1 && f->min < f->max));
		assert_true(strlen(f->name) <
			    sizeof(((struct remit_error *)0)->where));
	}
}

static void
field_names_the_mechanisms_that_enforce_it(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		if (f->setting)
			assert_int_equal(f->kept[TIER_LOCAL], 0);
		else
			assert_int_not_equal(f->kept[TIER_LOCAL], 0);
		assert_int_equal(f->kept[TIER_STATIC], f->kept[TIER_LOCAL]);
		assert_int_equal(f->kept[TIER_UNSAFE] & ~f->kept[TIER_LOCAL],
				 0);
	}
}

static void
landlock_tier_has_no_namespace_and_no_private_file_system(void **state)
{
	uint64_t missing = MECH(MOUNT_NAMESPACE) | MECH(NETWORK_NAMESPACE) |
			   MECH(TMPFS_SIZE) | MECH(TMPFS_INODES) |
			   MECH(OVERLAY) | MECH(COMMIT) | MECH(NOEXEC_MOUNT);

	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		uint64_t kept = fields[i].kept[TIER_LANDLOCK];

		assert_int_equal(kept & missing, 0);
		if (!fields[i].setting && i != F_DISK_BYTES && i != F_FILES &&
		    i != F_COMMIT_NAMES && i != F_NETWORK_ALLOW &&
		    i != F_CREDENTIALS && i != F_BRANCHES && i != F_WORKSPACE &&
		    i != F_WORKSPACE_ALIASES && i != F_WORKSPACE_EXECUTION)
			assert_int_not_equal(kept, 0);
	}
}

static void
unsafe_tier_enforces_only_what_the_keeper_alone_can(void **state)
{
	uint64_t no_wall = MECH(TIMER) | MECH(CAPTURE) | MECH(FRAME_CAP) |
			   MECH(VALIDATOR) | MECH(BRIDGE);

	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_int_equal(fields[i].kept[TIER_UNSAFE] & ~no_wall, 0);
	assert_int_equal(fields[F_TIMEOUT].kept[TIER_UNSAFE], MECH(TIMER));
	assert_int_equal(fields[F_MEMORY_BYTES].kept[TIER_UNSAFE], 0);
}

static void
unlimited_is_accepted_by_seven_limits_only(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_int_equal(fields[i].may_be_unlimited,
				 i == F_TIMEOUT || i == F_CPU_SECONDS ||
					 i == F_MEMORY_BYTES ||
					 i == F_FILE_BYTES ||
					 i == F_PROCESSES ||
					 i == F_DISK_BYTES || i == F_FILES);
}

static void
the_choices_of_tier_are_the_tiers(void **state)
{
	(void)state;
	for (int i = 0; i < TIER_COUNT; i++)
		assert_string_equal(fields[F_TIER].choices[i], tiers[i].name);
	assert_null(fields[F_TIER].choices[TIER_COUNT]);
}

static void
fields_share_no_flag_and_no_offset(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		assert_ptr_equal(field_find(f->name), f);
		assert_ptr_equal(field_find(f->short_name), f);
		if (f->alias)
			assert_ptr_equal(field_find(f->alias), f);
		assert_true(strncmp(f->short_name, "no-", 3) != 0);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(f->offset, fields[j].offset);
	}
}

static void
a_field_is_found_by_each_of_its_names(void **state)
{
	(void)state;
	assert_ptr_equal(field_find("memory_bytes"), &fields[F_MEMORY_BYTES]);
	assert_ptr_equal(field_find("memory-bytes"), &fields[F_MEMORY_BYTES]);
	assert_ptr_equal(field_find("memory"), &fields[F_MEMORY_BYTES]);
	assert_ptr_equal(field_find("allow-net"), &fields[F_NETWORK_ACCESS]);
	assert_ptr_equal(field_find("stdout_max"), &fields[F_STDOUT_MAX_BYTES]);
	assert_null(field_find("memor"));
	assert_null(field_find("memory_"));
	assert_null(field_find("Memory"));
	assert_null(field_find(""));
}

static void
nearest_field_name_is_suggested_only_if_similar(void **state)
{
	char endless[500];

	(void)state;
	assert_string_equal(field_nearest("memroy_bytes"), "memory_bytes");
	assert_string_equal(field_nearest("memory"), "memory_bytes");
	assert_string_equal(field_nearest("time_out"), "timeout");
	assert_string_equal(field_nearest("network_acess"), "network_access");
	assert_null(field_nearest("network"));
	assert_string_equal(field_nearest("TIMEOUT"), "timeout");
	assert_string_equal(field_nearest("allow-net"), "network_access");
	assert_null(field_nearest("quux_frobnicate"));
	assert_null(field_nearest("x"));
	assert_null(field_nearest(""));
	memset(endless, 'm', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_null(field_nearest(endless));
}

static void
every_field_goes_to_json_and_back(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];
		own(policy) struct policy a, b;
		struct remit_error err;
		json_auto_t *there = NULL;
		json_auto_t *back = NULL;

		assert_int_equal(policy_init(&a), 0);
		assert_int_equal(policy_init(&b), 0);
		set(&a, f, other_text(f));
		assert_false(field_is_default(&a, f));
		there = field_to_json(&a, f);
		if (field_set_json(&b, f, there, &err) < 0)
			fail_msg("%s: %s", f->name, err.message);
		back = field_to_json(&b, f);
		assert_true(json_equal(there, back));
		assert_false(field_is_default(&b, f));
		for (int k = 0; k < FIELD_TOTAL; k++) {
			assert_int_equal(field_is_default(&a, &fields[k]),
					 k != i);
			assert_int_equal(field_is_default(&b, &fields[k]),
					 k != i);
		}
	}
}

static void
every_default_goes_to_json_and_back(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		own(policy) struct policy p;
		struct remit_error err;
		json_auto_t *value = NULL;

		assert_int_equal(policy_init(&p), 0);
		assert_true(field_is_default(&p, &fields[i]));
		value = field_to_json(&p, &fields[i]);
		assert_int_equal(field_set_json(&p, &fields[i], value, &err),
				 0);
		assert_true(field_is_default(&p, &fields[i]));
	}
}

static void
unlimited_is_a_word_in_text_and_in_json(void **state)
{
	static const enum field_id ids[] = {
		F_TIMEOUT,   F_CPU_SECONDS, F_MEMORY_BYTES, F_FILE_BYTES,
		F_PROCESSES, F_DISK_BYTES,  F_FILES,
	};
	own(policy) struct policy p;
	char shown[32];

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		const struct field *f = &fields[ids[i]];
		json_auto_t *value = NULL;

		set(&p, f, "unlimited");
		assert_true(*FIELD_PTR(&p, f, uint64_t) == POLICY_UNLIMITED);
		value = field_to_json(&p, f);
		assert_string_equal(json_string_value(value), "unlimited");
		field_show(&p, f, shown, sizeof(shown));
		assert_string_equal(shown, "unlimited");
	}
	refuse_text(F_STDOUT_MAX_BYTES, "unlimited",
		    "--stdout-max: this limit cannot be unlimited");
	refuse_text(F_OPEN_FILES, "unlimited",
		    "--open-files: this limit cannot be unlimited");
}

static void
a_limit_out_of_its_range_is_an_error_that_names_the_bound(void **state)
{
	(void)state;
	refuse_text(F_MEMORY_BYTES, "1M",
		    "--memory: 1 MiB is too small: the least is 16 MiB");
	refuse_text(F_MEMORY_BYTES, "2T",
		    "--memory: 2 TiB is too large: the most is 1 TiB");
	refuse_text(F_TIMEOUT, "25h",
		    "--timeout: 25 h is too large: the most is 24 h");
	refuse_text(F_PROCESSES, "40000",
		    "--processes: 40000 is too large: the most is 32768");
	refuse_text(F_OPEN_FILES, "3",
		    "--open-files: 3 is too small: the least is 16");
}

static void
range_includes_its_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];
		own(policy) struct policy p = { 0 };
		char text[32];

		if (!f->max)
			continue;
		assert_int_equal(policy_init(&p), 0);
		for (int most = 0; most < 2; most++) {
			uint64_t n = most ? f->max : f->min;

			snprintf(text, sizeof(text), "%llu%s",
				 (unsigned long long)n,
				 f->type == FIELD_TIME ? "ms" : "");
			set(&p, f, text);
			assert_true(*FIELD_PTR(&p, f, uint64_t) == n);
		}
	}
}

static void
a_switch_takes_only_true_and_false(void **state)
{
	(void)state;
	refuse_text(F_SUBPROCESS_EXECUTION, "yes",
		    "--subprocess: \"yes\" is not true or false");
	refuse_text(F_SUBPROCESS_EXECUTION, "",
		    "--subprocess: \"\" is not true or false");
	refuse_text(F_NETWORK_ACCESS, "truely",
		    "--net: \"truely\" is not true, false, loopback or host");
	refuse_text(F_NETWORK_ACCESS, "Host",
		    "--net: \"Host\" is not true, false, loopback or host");
}

static void
an_unknown_choice_lists_the_choices(void **state)
{
	own(policy) struct policy p;

	(void)state;
	refuse_text(F_MEMORY_FALLBACK, "maybe",
		    "--memory-fallback: \"maybe\" is not one of none, "
		    "per_process");
	refuse_text(F_TIER, "Local",
		    "--tier: \"Local\" is not one of static, unsafe,");
	assert_int_equal(policy_init(&p), 0);
	set(&p, &fields[F_TIER], "local_unsafe");
	assert_int_equal(p.tier, TIER_UNSAFE);
}

static void
a_mount_flag_is_host_jail_and_mode(void **state)
{
	const struct field *f = &fields[F_MOUNTS];
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	set(&p, f, "/a:/b");
	set(&p, f, "/a/../c:/tmp/c:rw");
	set(&p, f, "//a/./x/:/workspace//d/.:direct");
	assert_int_equal(p.mounts.count, 3);
	assert_string_equal(p.mounts.items[0].host, "/a");
	assert_string_equal(p.mounts.items[0].jail, "/b");
	assert_int_equal(p.mounts.items[0].mode, MOUNT_RO);
	assert_string_equal(p.mounts.items[1].host, "/a/../c");
	assert_int_equal(p.mounts.items[1].mode, MOUNT_RW);
	assert_string_equal(p.mounts.items[2].host, "/a/x");
	assert_string_equal(p.mounts.items[2].jail, "/workspace/d");
	assert_int_equal(p.mounts.items[2].mode, MOUNT_DIRECT);
}

static void
a_wrong_mount_flag_is_an_error(void **state)
{
	(void)state;
	refuse_text(F_MOUNTS, "/a", "--mount: write HOST:JAIL");
	refuse_text(F_MOUNTS, "", "--mount: write HOST:JAIL");
	refuse_text(F_MOUNTS, "/a:/b:ro:x", "--mount: write HOST:JAIL");
	refuse_text(F_MOUNTS, ":/b", "--mount: the path is empty");
	refuse_text(F_MOUNTS, "/a:", "--mount: the path is empty");
	refuse_text(F_MOUNTS, "/a:b", "--mount: \"b\" is not absolute");
	refuse_text(F_MOUNTS, "/a:/b:", "--mount: \"\" is not one of ro,");
	refuse_text(F_MOUNTS, "/a:/b:w",
		    "--mount: \"w\" is not one of ro, rw, overlay, direct");
	refuse_text(F_MOUNTS, "/a\xff:/b", "--mount: the text is not UTF-8");
}

static void
paths_that_the_jail_creates_are_refused(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{ "/a:/", "--mount: \"/\" is the root of the jail" },
		{ "/a://./", "--mount: \"/\" is the root of the jail" },
		{ "/a:/proc", "--mount: \"/proc\" is in /proc, which" },
		{ "/a:/proc/1", "--mount: \"/proc/1\" is in /proc, which" },
		{ "/a://proc/", "--mount: \"/proc\" is in /proc, which" },
		{ "/a:/./dev/shm", "--mount: \"/dev/shm\" is in /dev, which" },
		{ "/a:/sys/fs", "--mount: \"/sys/fs\" is in /sys, which" },
		{ "/a:/.remit/x", "--mount: \"/.remit/x\" is in /.remit," },
		{ "/a:/tmp", "--mount: \"/tmp\" is the jail's own writable" },
		{ "/a:/tmp/.", "--mount: \"/tmp\" is the jail's own writable" },
		{ "/a:/workspace", "--mount: \"/workspace\" is the jail's" },
		{ "/a:/x/../proc", "--mount: \"/x/../proc\" contains \"..\"" },
		{ "/a:/x/..", "--mount: \"/x/..\" contains \"..\"" },
		{ "/a:/..", "--mount: \"/..\" contains \"..\"" },
	};
	own(policy) struct policy p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refuse_text(F_MOUNTS, rows[i].text, rows[i].message);
	refuse_text(F_FILESYSTEM_READ_ROOTS, "/",
		    "--read: \"/\" is the root of the jail");
	refuse_text(F_FILESYSTEM_WRITE_ROOTS, "/dev",
		    "--write: \"/dev\" is in /dev, which");
	assert_int_equal(policy_init(&p), 0);
	set(&p, &fields[F_MOUNTS], "/a:/process");
	set(&p, &fields[F_MOUNTS], "/a:/x/..y");
	set(&p, &fields[F_MOUNTS], "/a:/x/...");
	set(&p, &fields[F_FILESYSTEM_READ_ROOTS], "/tmp/x");
}

static void
a_relative_path_of_a_flag_starts_at_the_current_directory(void **state)
{
	own(policy) struct policy p;
	own_mem char *old = getcwd(NULL, 0);
	const struct field *f = &fields[F_FILESYSTEM_READ_ROOTS];

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(chdir("/usr/lib"), 0);
	set(&p, f, "x/y");
	set(&p, f, ".");
	set(&p, f, "..");
	set(&p, f, "./../share//z/");
	set(&p, f, "../../../var");
	set(&p, &fields[F_MOUNTS], "data:/data");
	set(&p, &fields[F_PYTHON], "bin/python");
	assert_int_equal(chdir(old), 0);
	assert_string_equal(p.filesystem_read_roots.items[0], "/usr/lib/x/y");
	assert_string_equal(p.filesystem_read_roots.items[1], "/usr/lib");
	assert_string_equal(p.filesystem_read_roots.items[2], "/usr");
	assert_string_equal(p.filesystem_read_roots.items[3], "/usr/share/z");
	assert_string_equal(p.filesystem_read_roots.items[4], "/var");
	assert_string_equal(p.mounts.items[0].host, "/usr/lib/data");
	assert_string_equal(p.python, "/usr/lib/bin/python");
	refuse_text(F_FILESYSTEM_READ_ROOTS, "a/../b", "--read: ");
}

static void
a_path_is_at_most_4095_bytes_long(void **state)
{
	own(policy) struct policy p;
	char path[4097];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[4096] = '\0';
	refuse_text(F_FILESYSTEM_READ_ROOTS, path,
		    "--read: the path is longer than 4095 bytes");
	path[4095] = '\0';
	assert_int_equal(policy_init(&p), 0);
	set(&p, &fields[F_FILESYSTEM_READ_ROOTS], path);
}

/* Tries a path as the workspace and as an alias of it. Returns the tidy path,
   or "" after a refusal. */
static const char *
try_place(const char *text, bool json)
{
	static char out[256];
	own(policy) struct policy p;
	const struct field *one = &fields[F_WORKSPACE];
	const struct field *many = &fields[F_WORKSPACE_ALIASES];
	json_auto_t *value = json_string(text);
	json_auto_t *list = json_pack("[O]", value);
	struct remit_error err, other;
	bool is_taken, is_alias_taken;

	assert_int_equal(policy_init(&p), 0);
	is_taken = (json ? field_set_json(&p, one, value, &err)
			 : field_set_text(&p, one, text, &err)) == 0;
	is_alias_taken = (json ? field_set_json(&p, many, list, &other)
			       : field_set_text(&p, many, text, &other)) == 0;
	assert_int_equal(is_taken, is_alias_taken);
	if (!is_taken) {
		assert_int_equal(err.code, REMIT_E_INPUT);
		assert_string_equal(err.where, "workspace");
		assert_string_equal(other.where, "workspace_aliases");
		return "";
	}
	assert_string_equal(p.workspace, p.workspace_aliases.items[0]);
	snprintf(out, sizeof(out), "%s", p.workspace);
	return out;
}

static void
a_workspace_may_be_where_models_look_for_it(void **state)
{
	static const char *const rows[][2] = {
		{ "/workspace", "/workspace" },
		{ "/home/user", "/home/user" },
		{ "/mnt/data", "/mnt/data" },
		{ "/content", "/content" },
		{ "/home/user/", "/home/user" },
		{ "//home///user//", "/home/user" },
		{ "/./home/./user/.", "/home/user" },
		{ "/a.b-c_1/D", "/a.b-c_1/D" },
		{ "/tmpfs", "/tmpfs" },
		{ "/usrx/y", "/usrx/y" },
		{ "/home", "/home" },
		{ "/root", "/root" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(try_place(rows[i][0], false), rows[i][1]);
		assert_string_equal(try_place(rows[i][0], true), rows[i][1]);
	}
}

static void
a_workspace_is_not_where_the_jail_needs_the_place(void **state)
{
	static const char *const rows[] = {
		"/",
		"//",
		"/.",
		"/./",
		"/..",
		"/../",
		"",
		".",
		"..",
		"x",
		"home/user",
		"./x",
		"../x",
		"~",
		"/proc",
		"/proc/self",
		"/dev",
		"/dev/shm",
		"/dev/shm/x",
		"/sys",
		"/etc",
		"/etc/x",
		"//etc//x",
		"/./etc/x",
		"/usr",
		"/usr/",
		"/usr/lib/x",
		"/bin",
		"/sbin",
		"/lib",
		"/lib64/x",
		"/boot",
		"/run",
		"/var/x",
		"/tmp",
		"/tmp/x",
		"/.remit",
		"/.remit/lib",
		"/workspace/../etc",
		"/workspace/..",
		"/home/user/../../etc",
		"/home/../home/user",
		"/.sentinel",
		"/home/.x",
		"/home/-x",
		"/a:b",
		"/a\nroot::0:0::/:",
		"/a b",
		"/a\tb",
		"/a\x01",
		"/a\x7f",
		"/a`b`",
		"/a'b",
		"/a\"b",
		"/a\\b",
		"/a*",
		"/a%s",
		"/$HOME",
		"/\xc3\xa4",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int json = 0; json < 2; json++)
			if (*try_place(rows[i], json))
				fail_msg("%s was taken", rows[i]);
}

static void
the_path_of_a_workspace_is_at_most_255_bytes_long(void **state)
{
	char path[4200];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[255] = '\0';
	assert_string_equal(try_place(path, false), path);
	path[255] = 'a';
	path[256] = '\0';
	assert_string_equal(try_place(path, false), "");
	path[256] = 'a';
	path[4096] = '\0';
	assert_string_equal(try_place(path, true), "");
	path[4096] = 'a';
	path[4199] = '\0';
	assert_string_equal(try_place(path, true), "");
}

static void
a_list_has_at_most_256_entries(void **state)
{
	static const struct {
		enum field_id id;
		const char *text;
	} rows[] = {
		{ F_ALLOWED_IMPORTS, "m" },
		{ F_FILESYSTEM_READ_ROOTS, "/m" },
		{ F_MOUNTS, "/m:/m" },
	};
	struct remit_error err;

	(void)state;
	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		const struct field *f = &fields[rows[r].id];
		own(policy) struct policy p;

		assert_int_equal(policy_init(&p), 0);
		for (int i = 0; i < 256; i++)
			set(&p, f, rows[r].text);
		assert_int_equal(field_set_text(&p, f, rows[r].text, &err), -1);
		assert_non_null(strstr(err.message, "at most 256 entries"));
	}
}

static void
a_text_is_at_most_64_kib_and_not_empty(void **state)
{
	own_mem char *text = malloc(64 * 1024 + 4);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 64 * 1024 + 3);
	text[64 * 1024 + 3] = '\0';
	text[1] = '=';
	refuse_text(F_ENV, text, "--env: the text is longer than 64 KiB");
	text[64 * 1024 + 1] = '\0';
	refuse_text(F_PRELOAD, text,
		    "--preload: the text is longer than 64 KiB");
	refuse_text(F_PRELOAD, "", "--preload: the text is empty");
	refuse_text(F_PRELOAD, "\xc3(", "--preload: the text is not UTF-8");
	refuse_text(F_PYTHON, "", "--python: the text is empty");
	refuse_text(F_ENV, "A=\xff", "--env: the text is not UTF-8");
}

static void
env_flag_without_a_value_copies_the_variable_of_the_caller(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(setenv("REMIT_TEST_ENV", "here=1", 1), 0);
	set(&p, &fields[F_ENV], "REMIT_TEST_ENV");
	set(&p, &fields[F_ENV], "EMPTY=");
	assert_string_equal(p.env.items[0], "REMIT_TEST_ENV=here=1");
	assert_string_equal(p.env.items[1], "EMPTY=");
	unsetenv("REMIT_TEST_ENV");
	refuse_text(F_ENV, "REMIT_TEST_ENV",
		    "--env: \"REMIT_TEST_ENV\" is not set in the environment");
}

static void
a_later_env_flag_replaces_an_earlier_one(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	set(&p, &fields[F_ENV], "A=1");
	set(&p, &fields[F_ENV], "AB=2");
	set(&p, &fields[F_ENV], "A=3");
	assert_int_equal(p.env.count, 2);
	assert_string_equal(p.env.items[0], "A=3");
	assert_string_equal(p.env.items[1], "AB=2");
}

static void
a_wrong_env_name_is_an_error(void **state)
{
	static const char *const texts[] = { "",      "=x",  "1A=x",
					     "A-B=x", "A B", "\xc3\xa4=x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		refuse_text(F_ENV, texts[i],
			    "--env: the name of a variable must consist");
}

static void
values_are_shown_for_people(void **state)
{
	static const struct {
		enum field_id id;
		const char *text;
		const char *shown;
	} rows[] = {
		{ F_MEMORY_BYTES, "512M", "512 MiB" },
		{ F_TIMEOUT, "1.5", "1.5 s" },
		{ F_NETWORK_ACCESS, "true", "on" },
		{ F_NETWORK_ACCESS, "false", "off" },
		{ F_PROCESSES, "7", "7" },
		{ F_TIER, "vm", "vm" },
		{ F_PYTHON, "pypy", "pypy" },
		{ F_PRELOAD, "a", "1 entry" },
		{ F_PRELOAD, "b", "2 entries" },
		{ F_MOUNTS, "/a:/b", "1 entry" },
	};
	own(policy) struct policy p;
	char shown[32];

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	field_show(&p, &fields[F_MOUNTS], shown, sizeof(shown));
	assert_string_equal(shown, "none");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		set(&p, &fields[rows[i].id], rows[i].text);
		field_show(&p, &fields[rows[i].id], shown, sizeof(shown));
		assert_string_equal(shown, rows[i].shown);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_the_table_is_complete),
		cmocka_unit_test(field_names_the_mechanisms_that_enforce_it),
		cmocka_unit_test(
			unsafe_tier_enforces_only_what_the_keeper_alone_can),
		cmocka_unit_test(unlimited_is_accepted_by_seven_limits_only),
		cmocka_unit_test(
			landlock_tier_has_no_namespace_and_no_private_file_system),
		cmocka_unit_test(the_choices_of_tier_are_the_tiers),
		cmocka_unit_test(fields_share_no_flag_and_no_offset),
		cmocka_unit_test(a_field_is_found_by_each_of_its_names),
		cmocka_unit_test(
			nearest_field_name_is_suggested_only_if_similar),
		cmocka_unit_test(every_field_goes_to_json_and_back),
		cmocka_unit_test(every_default_goes_to_json_and_back),
		cmocka_unit_test(unlimited_is_a_word_in_text_and_in_json),
		cmocka_unit_test(
			a_limit_out_of_its_range_is_an_error_that_names_the_bound),
		cmocka_unit_test(range_includes_its_bounds),
		cmocka_unit_test(a_switch_takes_only_true_and_false),
		cmocka_unit_test(an_unknown_choice_lists_the_choices),
		cmocka_unit_test(a_mount_flag_is_host_jail_and_mode),
		cmocka_unit_test(a_wrong_mount_flag_is_an_error),
		cmocka_unit_test(paths_that_the_jail_creates_are_refused),
		cmocka_unit_test(
			a_relative_path_of_a_flag_starts_at_the_current_directory),
		cmocka_unit_test(a_path_is_at_most_4095_bytes_long),
		cmocka_unit_test(a_workspace_may_be_where_models_look_for_it),
		cmocka_unit_test(
			a_workspace_is_not_where_the_jail_needs_the_place),
		cmocka_unit_test(
			the_path_of_a_workspace_is_at_most_255_bytes_long),
		cmocka_unit_test(a_list_has_at_most_256_entries),
		cmocka_unit_test(a_text_is_at_most_64_kib_and_not_empty),
		cmocka_unit_test(
			env_flag_without_a_value_copies_the_variable_of_the_caller),
		cmocka_unit_test(a_later_env_flag_replaces_an_earlier_one),
		cmocka_unit_test(a_wrong_env_name_is_an_error),
		cmocka_unit_test(values_are_shown_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
