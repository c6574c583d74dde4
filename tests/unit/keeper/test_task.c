/* task: what the keeper sends to the runner in the jail. */
#include "keeper/session/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

#include <cmocka.h>

static char *paths[] = { "/usr/lib/python3.11", "/venv/lib", NULL };
static char *lines[] = { "import x", NULL };

static const struct interpreter python = {
	.executable = "/venv/bin/python",
	.prefix = "/venv",
	.exec_prefix = "/venv/exec",
	.sys_path = { paths, 2 },
	.import_lines = { lines, 1 },
	.program_path = "/venv/bin:/usr/bin",
};

static char *argv[] = { "-x", "", NULL };
static const struct list arguments = { argv, 2 };

struct told {
	struct policy policy;
	struct interpreter interpreter;
	struct plan plan;
	struct buf out;
	const char *place;
};

static void
told_free(struct told *t)
{
	policy_free(&t->policy);
	buf_free(&t->out);
}

static struct told
ordinary(void)
{
	struct told t = {
		.interpreter = python,
		.plan = { .tier = TIER_LOCAL },
		.out = BUF_INIT(1 << 20),
	};

	assert_int_equal(policy_init(&t.policy), 0);
	setenv("REMIT_TEST_SECRET", "of the caller", 1);
	return t;
}

static const struct task_job job = {
	.name = "main.py",
	.argv = &arguments,
	.code_len = 12345,
	.display_mode = DISPLAYS_EXPLICIT,
};

static int
tell_plan(struct told *t, struct remit_error *err)
{
	t->plan.policy = &t->policy;
	t->plan.interpreter = &t->interpreter;
	return task_write(&t->out, &t->plan, TASK_COLD, t->place, err);
}

static int
tell(struct told *t, struct remit_error *err)
{
	if (tell_plan(t, err) < 0)
		return -1;
	return task_write_job(&t->out, &job, err);
}

static void
write_task(struct told *t)
{
	struct remit_error err;

	if (tell(t, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(record_check(t->out.data, t->out.len, &err), 0);
}

/* How many such records exist; value NULL: any value. */
static int
count(const struct told *t, const char *key, const char *value)
{
	struct record r;
	size_t at = 0;
	int n = 0;

	while (record_next(t->out.data, t->out.len, &at, &r))
		n += !strcmp(r.key, key) && (!value || !strcmp(r.value, value));
	return n;
}

static void
has(const struct told *t, const char *key, const char *value)
{
	if (count(t, key, value) != 1)
		fail_msg("%s=%s is there %d times", key, value,
			 count(t, key, value));
}

static void
job_records_carry_the_whole_job(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	write_task(&t);
	has(&t, "name", "main.py");
	has(&t, "code_bytes", "12345");
	has(&t, "display_mode", "explicit");
	has(&t, "tier", "local");
	has(&t, "prefix", "/venv");
	has(&t, "exec_prefix", "/venv/exec");
	has(&t, "executable", "/venv/bin/python");
	has(&t, "argv", "-x");
	has(&t, "argv", "");
	has(&t, "path", "/usr/lib/python3.11");
	has(&t, "path", "/venv/lib");
	has(&t, "pth", "import x");
	assert_int_equal(count(&t, "allowed_imports", NULL), 0);
	assert_int_equal(count(&t, "blocked_imports", NULL), 0);
}

/* A waiting child gets the task before the job is known. */
static void
task_and_job_records_have_no_key_in_common(void **state)
{
	static const char *const of_task[] = { "tier",	      "prefix",
					       "exec_prefix", "executable",
					       "path",	      "pth",
					       "env" };
	static const char *const of_job[] = { "name", "argv", "code_bytes" };
	own(told) struct told task = ordinary();
	own(told) struct told only_job = ordinary();
	struct remit_error err;

	(void)state;
	assert_int_equal(tell_plan(&task, &err), 0);
	assert_int_equal(task_write_job(&only_job.out, &job, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(of_task); i++) {
		assert_true(count(&task, of_task[i], NULL) > 0);
		assert_int_equal(count(&only_job, of_task[i], NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(of_job); i++) {
		assert_int_equal(count(&task, of_job[i], NULL), 0);
		assert_true(count(&only_job, of_job[i], NULL) > 0);
	}
}

static void
task_reports_limited_address_space(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	write_task(&t);
	assert_int_equal(count(&t, "address_space", NULL), 0);
	buf_free(&t.out);
	t.plan.limits.address_space_bytes = 1 << 30;
	write_task(&t);
	has(&t, "address_space", "limited");
}

static void
task_limits_libraries_to_one_thread_if_address_space_is_limited(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	t.plan.filter = PLAN_FILTER_STRICT_MEMORY;
	write_task(&t);
	has(&t, "env", "OPENBLAS_NUM_THREADS=1");
	has(&t, "env", "OMP_NUM_THREADS=1");
	has(&t, "env", "MKL_NUM_THREADS=1");
	has(&t, "env", "NUMEXPR_NUM_THREADS=1");
}

static void
code_is_checked_in_static_tier_and_with_import_lists(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	t.plan.policy = &t.policy;
	assert_false(task_is_checked(&t.plan));
	t.plan.tier = TIER_UNSAFE;
	assert_false(task_is_checked(&t.plan));
	t.plan.tier = TIER_STATIC;
	assert_true(task_is_checked(&t.plan));
	for (int i = 0; i < 2; i++) {
		static const enum tier all[] = { TIER_LOCAL, TIER_UNSAFE,
						 TIER_STATIC };
		struct list *l = i ? &t.policy.blocked_imports
				   : &t.policy.allowed_imports;

		assert_int_equal(list_add(l, "math"), 0);
		for (size_t k = 0; k < ARRAY_LEN(all); k++) {
			t.plan.tier = all[k];
			assert_true(task_is_checked(&t.plan));
		}
		list_free(l);
	}
}

#ifdef REMIT_HOLES
static void
only_static_tier_checks_code_without_validator(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	assert_int_equal(list_add(&t.policy.allowed_imports, "math"), 0);
	t.plan.left_out = MECH(VALIDATOR);
	write_task(&t);
	assert_int_equal(count(&t, "allowed_imports", NULL), 0);
	assert_false(task_is_checked(&t.plan));
	t.plan.tier = TIER_STATIC;
	assert_true(task_is_checked(&t.plan));
}
#endif

static void
environment_is_fixed_and_independent_of_the_caller(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	write_task(&t);
	has(&t, "env", "HOME=/workspace");
	has(&t, "env", "TMPDIR=/tmp");
	has(&t, "env", "LANG=C.UTF-8");
	has(&t, "env", "TZ=UTC");
	has(&t, "env", "USER=remit");
	has(&t, "env", "LOGNAME=remit");
	has(&t, "env", "PATH=/usr/local/bin:/usr/bin:/bin");
	has(&t, "env", "MPLBACKEND=Agg");
	assert_int_equal(count(&t, "env", NULL), 8);
}

static void
workspace_of_the_policy_is_home_and_has_its_names(void **state)
{
	own(told) struct told usual = ordinary();
	own(told) struct told t = ordinary();
	struct remit_error err;

	(void)state;
	write_task(&usual);
	has(&usual, "workspace", "/workspace");
	assert_int_equal(count(&usual, "workspace", NULL), 1);
	assert_int_equal(field_set_text(&t.policy, &fields[F_WORKSPACE],
					"/home/user", &err),
			 0);
	assert_int_equal(field_set_text(&t.policy, &fields[F_WORKSPACE_ALIASES],
					"/mnt/data", &err),
			 0);
	write_task(&t);
	has(&t, "env", "HOME=/home/user");
	has(&t, "workspace", "/home/user");
	has(&t, "workspace", "/mnt/data");
}

static void
path_leads_to_the_interpreter_only_if_programs_are_allowed(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	t.policy.subprocess_execution = true;
	write_task(&t);
	has(&t, "env", "PATH=/venv/bin:/usr/bin");
	assert_int_equal(count(&t, "env", NULL), 8);
}

static void
variables_of_the_policy_come_last_and_take_effect(void **state)
{
	own(told) struct told t = ordinary();
	struct remit_error err;
	struct record r = { 0 };
	const char *last = NULL;
	size_t at = 0;

	(void)state;
	assert_int_equal(
		field_set_text(&t.policy, &fields[F_ENV], "TZ=Asia/X", &err),
		0);
	write_task(&t);
	while (record_next(t.out.data, t.out.len, &at, &r))
		if (!strcmp(r.key, "env"))
			last = r.value;
	assert_string_equal(last, "TZ=Asia/X");
}

static void
environment_of_the_caller_is_passed_only_if_granted(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	t.policy.env_var_access = true;
	write_task(&t);
	has(&t, "env", "REMIT_TEST_SECRET=of the caller");
	has(&t, "env", "HOME=/workspace");
}

static void
import_lists_are_sent(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	assert_int_equal(list_add(&t.policy.allowed_imports, "math"), 0);
	assert_int_equal(list_add(&t.policy.blocked_imports, "os"), 0);
	write_task(&t);
	has(&t, "allowed_imports", "math");
	has(&t, "blocked_imports", "os");
	assert_int_equal(count(&t, "allowed_imports", NULL), 1);
	assert_int_equal(count(&t, "blocked_imports", NULL), 1);
}

static void
font_cache_directory_is_named_if_it_exists(void **state)
{
	own(told) struct told t = ordinary();

	(void)state;
	t.interpreter.font_cache = "/cache/fonts";
	write_task(&t);
	has(&t, "env", "MPLCONFIGDIR=/tmp/.matplotlib");
}

static void
task_too_large_for_its_frame_is_an_input_error(void **state)
{
	own(told) struct told t = ordinary();
	struct remit_error err;
	size_t len;

	(void)state;
	write_task(&t);
	len = t.out.len;
	/* With any smaller buffer it fails; nothing is left out silently. */
	for (size_t cap = 0; cap < len; cap++) {
		buf_free(&t.out);
		t.out.cap = cap;
		assert_int_equal(tell(&t, &err), -1);
		assert_int_equal(err.code, REMIT_E_INPUT);
	}
	buf_free(&t.out);
	t.out.cap = len;
	assert_int_equal(tell(&t, &err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_records_carry_the_whole_job),
		cmocka_unit_test(task_and_job_records_have_no_key_in_common),
		cmocka_unit_test(task_reports_limited_address_space),
		cmocka_unit_test(
			task_limits_libraries_to_one_thread_if_address_space_is_limited),
		cmocka_unit_test(
			code_is_checked_in_static_tier_and_with_import_lists),
#ifdef REMIT_HOLES
		cmocka_unit_test(
			only_static_tier_checks_code_without_validator),
#endif
		cmocka_unit_test(
			environment_is_fixed_and_independent_of_the_caller),
		cmocka_unit_test(
			workspace_of_the_policy_is_home_and_has_its_names),
		cmocka_unit_test(
			path_leads_to_the_interpreter_only_if_programs_are_allowed),
		cmocka_unit_test(
			variables_of_the_policy_come_last_and_take_effect),
		cmocka_unit_test(
			environment_of_the_caller_is_passed_only_if_granted),
		cmocka_unit_test(import_lists_are_sent),
		cmocka_unit_test(font_cache_directory_is_named_if_it_exists),
		cmocka_unit_test(
			task_too_large_for_its_frame_is_an_input_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
