/* flags: the command line options of a policy, and their help texts. */
#include "policy/fields/flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After the headers that declare fail(), which cmocka makes a macro. */
#include <cmocka.h>

static const struct options command = {
	.name = "test",
	.tables = { { .make = flags_options } },
};

/* Parses and applies a command line, given as its words. */
static int
use(struct policy *p, char **argv, struct remit_error *err)
{
	own(flags) struct flags fl = { 0 };
	int argc = 0;

	while (argv[argc])
		argc++;
	if (options_parse(&command, &fl, argc, argv, NULL, NULL, err) < 0)
		return -1;
	return flags_apply(&fl, p, err);
}

#define take(p, ...)                                           \
	do {                                                   \
		struct remit_error err_;                       \
		char *argv_[] = { "test", __VA_ARGS__, NULL }; \
		if (use((p), argv_, &err_) < 0)                \
			fail_msg("%s", err_.message);          \
	} while (0)

#define refuse(message_, ...)                                            \
	do {                                                             \
		own(policy) struct policy p_;                            \
		struct remit_error err_ = { 0 };                         \
		char *argv_[] = { "test", __VA_ARGS__, NULL };           \
		assert_int_equal(policy_init(&p_), 0);                   \
		assert_int_equal(use(&p_, argv_, &err_), -1);            \
		if (strncmp(err_.message, (message_), strlen(message_))) \
			fail_msg("%s", err_.message);                    \
		assert_int_equal(err_.code, REMIT_E_INPUT);              \
		for (int i_ = 0; i_ < FIELD_TOTAL; i_++)                 \
			assert_true(field_is_default(&p_, &fields[i_])); \
	} while (0)

static void
flag_value_follows_the_flag_or_an_equals_sign(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "--memory", "1G", "--timeout=1.5s", "--export=--x", "--export",
	     "a=b");
	assert_int_equal(p.memory_bytes, 1 << 30);
	assert_int_equal(p.timeout_ms, 1500);
	assert_string_equal(p.artifact_export_paths.items[0], "--x");
	assert_string_equal(p.artifact_export_paths.items[1], "a=b");
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_int_equal(field_is_default(&p, &fields[i]),
				 i != F_MEMORY_BYTES && i != F_TIMEOUT &&
					 i != F_ARTIFACT_EXPORT_PATHS);
}

static void
every_field_has_its_flag(void **state)
{
	static const char *const texts[] = {
		[FIELD_BOOL] = "true",	 [FIELD_BYTES] = "32M",
		[FIELD_SWITCH] = "host", [FIELD_TIME] = "2s",
		[FIELD_COUNT] = "32",	 [FIELD_CHOICE] = NULL,
		[FIELD_TEXT] = "pypy",	 [FIELD_LIST] = "x",
		[FIELD_PATHS] = "/x",	 [FIELD_MOUNTS] = "/x:/y:ro",
		[FIELD_ENV] = "A=b",
	};

	(void)state;
	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];
		own(policy) struct policy p;
		char arg[100];

		assert_int_equal(policy_init(&p), 0);
		snprintf(arg, sizeof(arg), "--%s=%s", f->short_name,
			 f->type == FIELD_CHOICE ? f->choices[1]
			 : f->path_rule		 ? "/x"
						 : texts[f->type]);
		take(&p, arg);
		assert_false(field_is_default(&p, f));
		for (int k = 0; k < FIELD_TOTAL; k++)
			assert_int_equal(field_is_default(&p, &fields[k]),
					 k != i);
	}
}

static void
a_switch_has_four_forms(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "--net");
	assert_true(p.network_access);
	take(&p, "--no-net");
	assert_false(p.network_access);
	take(&p, "--net=true");
	assert_true(p.network_access);
	take(&p, "--net=false");
	assert_false(p.network_access);
	take(&p, "--allow-net", "--allow-subprocess", "--env_var_access");
	assert_true(p.network_access);
	assert_true(p.subprocess_execution);
	assert_true(p.env_var_access);
	take(&p, "--no-allow-net");
	assert_false(p.network_access);
	take(&p, "--net=host");
	assert_int_equal(p.network_access, NETWORK_HOST);
	take(&p, "--net");
	assert_int_equal(p.network_access, NETWORK_PUBLIC);
}

static void
a_switch_does_not_take_the_next_argument(void **state)
{
	(void)state;
	refuse("unexpected argument \"false\"", "--net", "false");
}

static void
a_flag_without_its_value_is_an_error(void **state)
{
	(void)state;
	refuse("--memory requires a value, such as 512M", "--memory");
	refuse("--policy requires a value, such as policy.json", "--policy");
	refuse("--read requires a value: DIR", "--read");
	refuse("--memory requires a value, such as 512M; write --memory=VALUE "
	       "if it begins with --",
	       "--memory", "--net");
	refuse("--memory: an empty text is not a size", "--memory=");
}

static void
only_switches_can_be_negated(void **state)
{
	(void)state;
	refuse("unknown option --no-memory; --memory cannot "
	       "be switched off",
	       "--no-memory");
	refuse("unknown option --no-preset; --preset cannot", "--no-preset",
	       "strict");
	refuse("--no-net takes no value", "--no-net=true");
	refuse("--net: \"maybe\" is not true, false, loopback or host",
	       "--net=maybe");
	refuse("--net: \"\" is not true, false, loopback or host", "--net=");
}

static void
a_wrong_value_is_an_error_that_names_the_flag(void **state)
{
	(void)state;
	refuse("--memory: \"lots\" is not a size", "--memory", "lots");
	refuse("--timeout: \"-5\" is negative", "--timeout", "-5");
	refuse("preset: \"x\" is not one of", "--preset", "x");
	refuse("policy file /nonexistent/p: No such file", "--policy",
	       "/nonexistent/p");
	refuse("--cpus: ", "--net", "--cpus", "0");
}

static void
an_unknown_flag_is_an_error_with_the_nearest_flag(void **state)
{
	(void)state;
	refuse("unknown option --memroy; did you mean --memory?", "--memroy",
	       "1G");
	refuse("unknown option --memroy; did you mean --memory?",
	       "--memroy=1G");
	refuse("unknown option --no-nett; did you mean --no-net?", "--no-nett");
	refuse("unknown option --polcy; did you mean --policy?", "--polcy");
}

static void
a_flag_may_be_repeated_and_lists_grow(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "--cpus", "1", "--read", "/a", "--cpus", "3", "--read=/b",
	     "--env=A=1", "--env=A=2");
	assert_int_equal(p.cpus, 3);
	assert_int_equal(p.filesystem_read_roots.count, 2);
	assert_int_equal(p.env.count, 1);
	assert_string_equal(p.env.items[0], "A=2");
}

static void
lists_of_names_are_split_at_commas_and_other_lists_are_not(void **state)
{
	own(policy) struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	take(&p, "--preload", "numpy,pandas", "--preload=scipy", "--export",
	     "a,b");
	assert_int_equal(p.preload.count, 3);
	assert_string_equal(p.preload.items[1], "pandas");
	assert_string_equal(p.preload.items[2], "scipy");
	assert_int_equal(p.artifact_export_paths.count, 1);
	assert_string_equal(p.artifact_export_paths.items[0], "a,b");
	refuse("--preload: the text is empty", "--preload", "numpy,");
}

static void
files_and_presets_are_applied_before_flags_in_any_position(void **state)
{
	char path[] = "/tmp/remit_test_flags.XXXXXX";
	static const char text[] = "{\"cpus\": 5, \"processes\": 33, "
				   "\"artifact_export_paths\": [\"f\"]}";
	own_fd int fd = mkstemp(path);
	own(policy) struct policy p;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(policy_init(&p), 0);
	take(&p, "--cpus", "7", "--export", "g", "--preset=strict", "--policy",
	     path);
	assert_int_equal(p.cpus, 7);
	assert_int_equal(p.processes, 33);
	assert_int_equal(p.timeout_ms, 10000);
	assert_int_equal(p.artifact_export_paths.count, 2);
	/* Files and presets keep their order. */
	take(&p, "--policy", path, "--preset", "strict");
	assert_int_equal(p.processes, 16);
	unlink(path);
}

static void
an_error_leaves_the_policy_as_it_was(void **state)
{
	own(policy) struct policy p;
	struct remit_error err;
	char *argv[] = { "test", "--preset", "strict", "--export",
			 "a",	 "--cpus",   "0",      NULL };

	(void)state;
	assert_int_equal(policy_init(&p), 0);
	assert_int_equal(use(&p, argv, &err), -1);
	for (int i = 0; i < FIELD_TOTAL; i++)
		assert_true(field_is_default(&p, &fields[i]));
	assert_string_equal(err.where, "cpus");
}

static void
help_shows_every_flag_within_80_columns(void **state)
{
	static const struct options shown = {
		.name = "test",
		.usage = "",
		.summary = "a command",
		.tables = { { .make = flags_options } },
	};
	own(buf) struct buf out = BUF_INIT(64 * 1024);
	char flag[64];

	(void)state;
	assert_int_equal(options_help(&shown, &out), 0);
	for (int i = 0; i < FIELD_TOTAL; i++) {
		snprintf(flag, sizeof(flag), "\n  --%s ", fields[i].short_name);
		if (!strstr(buf_text(&out), flag))
			fail_msg("no row for%s", flag);
	}
	for (const char *s = buf_text(&out); *s; s += strcspn(s, "\n") + 1) {
		size_t n = strcspn(s, "\n");

		assert_true(n <= 80);
		assert_true(n == 0 || s[n - 1] != ' ');
	}
	assert_non_null(strstr(buf_text(&out),
			       "  --memory SIZE             all memory of the "
			       "run together [512M]\n"));
}

static void
completion_lists_only_flags_that_are_accepted(void **state)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024);
	char *save = NULL;
	int count = 0;

	(void)state;
	assert_int_equal(options_words(&command, &out), 0);
	for (char *s = strtok_r(out.data, "\n", &save); s;
	     s = strtok_r(NULL, "\n", &save), count++) {
		own(flags) struct flags fl = { 0 };
		struct remit_error err = { 0 };
		char *argv[] = { "test", s, "x", NULL };

		if (!strcmp(s, "--help"))
			continue;
		/* A switch does not consume the "x", which is then an error. */
		if (options_parse(&command, &fl, 3, argv, NULL, NULL, &err) <
			    0 &&
		    strncmp(err.message, "unexpected argument \"x\"", 23) != 0)
			fail_msg("%s: %s", s, err.message);
		assert_int_equal(fl.count, 1);
	}
	assert_true(count > FIELD_TOTAL + 2);
}

static void
the_man_page_has_every_field(void **state)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024);
	char start[64];

	(void)state;
	assert_int_equal(flags_man(&out), 0);
	for (int i = 0; i < FIELD_TOTAL; i++) {
		snprintf(start, sizeof(start), "\n*%s* (", fields[i].name);
		if (!strstr(buf_text(&out), start))
			fail_msg("no entry for %s", fields[i].name);
	}
	assert_non_null(strstr(
		buf_text(&out),
		"*memory_bytes* (size, 16 MiB to 1 TiB, or \"unlimited\")\n"
		"\tAll memory of the run together. Default: 512M. Flag: "
		"*--memory* _SIZE_. Enforced by seccomp, cgroup_memory, "
		"rlimit_as.\n"));
	/* Without escapes, scdoc would read the stars as bold text. */
	assert_non_null(strstr(buf_text(&out), ".github/\\*\\*"));
}

static void
the_man_page_stops_at_the_cap_of_its_buffer(void **state)
{
	own(buf) struct buf out = BUF_INIT(100);

	(void)state;
	assert_int_equal(flags_man(&out), -1);
	assert_int_equal(errno, EFBIG);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(flag_value_follows_the_flag_or_an_equals_sign),
		cmocka_unit_test(every_field_has_its_flag),
		cmocka_unit_test(a_switch_has_four_forms),
		cmocka_unit_test(a_switch_does_not_take_the_next_argument),
		cmocka_unit_test(a_flag_without_its_value_is_an_error),
		cmocka_unit_test(only_switches_can_be_negated),
		cmocka_unit_test(a_wrong_value_is_an_error_that_names_the_flag),
		cmocka_unit_test(
			an_unknown_flag_is_an_error_with_the_nearest_flag),
		cmocka_unit_test(a_flag_may_be_repeated_and_lists_grow),
		cmocka_unit_test(
			lists_of_names_are_split_at_commas_and_other_lists_are_not),
		cmocka_unit_test(
			files_and_presets_are_applied_before_flags_in_any_position),
		cmocka_unit_test(an_error_leaves_the_policy_as_it_was),
		cmocka_unit_test(help_shows_every_flag_within_80_columns),
		cmocka_unit_test(completion_lists_only_flags_that_are_accepted),
		cmocka_unit_test(the_man_page_has_every_field),
		cmocka_unit_test(the_man_page_stops_at_the_cap_of_its_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
