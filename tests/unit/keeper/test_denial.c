/*
 * denial: refusals are counted, bounded, and described in terms of the policy.
 */
#include "keeper/output/denial.h"

#include <errno.h>
#include <jansson.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* A call whose memory cannot be read. */
static struct denial
refused(const struct policy *p, int number, uint64_t a, uint64_t b)
{
	struct notice n = {
		.listener = -1,
		.call = { .nr = number, .args = { a, b } },
	};
	struct denial d;

	denial_of_notice(&d, &n, p);
	return d;
}

static json_t *
written(const struct denials *d)
{
	own(buf) struct buf out = BUF_INIT(1024 * 1024);
	json_error_t where;
	json_t *doc;

	assert_int_equal(denials_write(&out, d), 0);
	doc = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &where);
	assert_true(json_is_array(doc));
	return doc;
}

static void
row_is(const json_t *doc, size_t i, const char *want)
{
	own_mem char *text = json_dumps(json_array_get(doc, i), JSON_COMPACT);

	assert_string_equal(text, want);
}

static void
equal_denials_are_counted_in_one_row(void **state)
{
	own(denials) struct denials d = { 0 };
	struct policy p = { 0 };
	struct denial inet =
		refused(&p, SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC);
	struct denial inet6 = refused(&p, SYS_socket, AF_INET6, SOCK_DGRAM);
	json_t *doc;

	(void)state;
	for (int i = 0; i < 3; i++)
		denials_add(&d, &inet);
	denials_add(&d, &inet6);
	doc = written(&d);
	assert_int_equal(json_array_size(doc), 2);
	row_is(doc, 0,
	       "{\"source\":\"kernel\",\"syscall\":\"socket\","
	       "\"what\":\"socket(AF_INET, SOCK_STREAM)\",\"count\":3,"
	       "\"field\":\"network_access\",\"flag\":\"--net\","
	       "\"reported\":{}}");
	row_is(doc, 1,
	       "{\"source\":\"kernel\",\"syscall\":\"socket\","
	       "\"what\":\"socket(AF_INET6, SOCK_DGRAM)\",\"count\":1,"
	       "\"field\":\"network_access\",\"flag\":\"--net\","
	       "\"reported\":{}}");
	json_decref(doc);
}

static void
number_of_rows_is_limited(void **state)
{
	own(denials) struct denials d = { 0 };
	struct policy p = { 0 };
	json_t *doc;

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t type = 0; type < 2 * DENIALS_MAX; type++) {
			struct denial one =
				refused(&p, SYS_socket, AF_INET, type);

			denials_add(&d, &one);
		}
	assert_int_equal(d.count, DENIALS_MAX);
	assert_int_equal(d.left_out, 3 * DENIALS_MAX);
	doc = written(&d);
	assert_int_equal(json_array_size(doc), DENIALS_MAX);
	for (size_t i = 0; i < DENIALS_MAX; i++)
		assert_int_equal(d.rows[i].count, 3);
	json_decref(doc);
}

static void
every_call_and_argument_fits(void **state)
{
	own(denials) struct denials d = { 0 };
	struct policy p = { 0 };

	(void)state;
	for (int number = -1; number < 600; number++) {
		struct denial one = refused(&p, number, UINT64_MAX, UINT64_MAX);

		assert_non_null(one.call);
		assert_true(strlen(one.what) < sizeof(one.what));
		denials_add(&d, &one);
	}
	json_decref(written(&d));
}

static void
field_is_named_only_if_it_would_allow_the_call(void **state)
{
	struct policy none = { 0 };
	struct policy all = { .network_access = true,
			      .subprocess_execution = true };
	struct denial d;

	(void)state;
	d = refused(&none, SYS_execve, 0, 0);
	assert_int_equal(d.field, F_SUBPROCESS_EXECUTION);
	d = refused(&none, SYS_clone, SIGCHLD, 0);
	assert_int_equal(d.field, F_SUBPROCESS_EXECUTION);
	assert_string_equal(d.what, "clone");
	d = refused(&none, SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWNS, 0);
	assert_int_equal(d.field, FIELD_TOTAL);
	assert_string_equal(d.what, "clone(CLONE_NEWNS|CLONE_NEWUSER)");
	d = refused(&none, SYS_mount, 0, 0);
	assert_int_equal(d.field, FIELD_TOTAL);
	d = refused(&none, SYS_ptrace, 0, 0);
	assert_int_equal(d.field, FIELD_TOTAL);
	/* Granted by the policy, and refused for another reason. */
	d = refused(&all, SYS_socket, AF_PACKET, SOCK_RAW);
	assert_int_equal(d.field, FIELD_TOTAL);
	assert_string_equal(d.what, "socket(AF_PACKET, SOCK_RAW)");
	d = refused(&all, SYS_clone, CLONE_PARENT, 0);
	assert_int_equal(d.field, FIELD_TOTAL);
}

static void
foreign_text_is_quoted(void **state)
{
	own(denials) struct denials d = { 0 };
	struct denial one = {
		.call = "execve",
		.what = "execve",
		.field = FIELD_TOTAL,
		.kind = DENIAL_PATH,
		.text = "\033[2J\"\n\xff,\"denials\":",
	};
	json_t *doc;

	(void)state;
	denials_add(&d, &one);
	doc = written(&d);
	row_is(doc, 0,
	       "{\"source\":\"kernel\",\"syscall\":\"execve\","
	       "\"what\":\"execve\",\"count\":1,\"field\":null,\"flag\":null,"
	       "\"reported\":{\"path\":\"\\u001B[2J\\\"\\n\xef\xbf\xbd,"
	       "\\\"denials\\\":\"}}");
	json_decref(doc);
}

/* ---- paths ---- */

static struct plan_mount mounts[] = {
	{ .host = "/data", .jail = "/data", .field = F_FILESYSTEM_READ_ROOTS },
	{ .host = "/usr", .jail = "/usr", .runtime = true },
	{ .host = "/x", .jail = "/workspace/x", .field = F_MOUNTS },
};

static char workspace[] = "/workspace", alias[] = "/mnt/data";
static char *aliases[] = { alias, NULL };
static const struct policy policy = {
	.workspace = workspace,
	.workspace_aliases = { .items = aliases, .count = 1 },
};
static const struct plan plan = {
	.tier = TIER_LOCAL,
	.policy = &policy,
	.mounts = mounts,
	.mount_count = 3,
};

static void
path_outside_all_roots_needs_a_read_root(void **state)
{
	static const int errors[] = { ENOENT, EACCES, EPERM };
	own(denials) struct denials all = { 0 };
	struct denial d;
	json_t *doc;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(
			denial_of_path(&d, "/etc/shadow", errors[i], &plan));
		assert_int_equal(d.field, F_FILESYSTEM_READ_ROOTS);
		assert_true(denial_of_path(&d, "/database", errors[i], &plan));
	}
	denials_add(&all, &d);
	doc = written(&all);
	row_is(doc, 0,
	       "{\"source\":\"reported\",\"syscall\":null,\"what\":null,"
	       "\"count\":1,\"field\":\"filesystem_read_roots\","
	       "\"flag\":\"--read\",\"reported\":{\"path\":\"/database\","
	       "\"errno\":\"EPERM\"}}");
	json_decref(doc);
}

static void
path_that_no_jail_has_is_explained(void **state)
{
	static const char *const paths[] = { "/dev/stdin", "/dev/fd/63",
					     "/proc/self/maps", "/sys", "/" };
	static const char *const others[] = { "/dev/stdinx", "/dev/sda",
					      "/procedures", "/data", "/srv" };
	struct plan bare = plan;
	struct denial d;

	(void)state;
	bare.tier = TIER_LANDLOCK;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_true(denial_of_path(&d, paths[i], ENOENT, &plan));
		assert_int_equal(d.field, FIELD_TOTAL);
		assert_non_null(denial_path_reason(paths[i], &plan));
		assert_null(denial_path_reason(paths[i], &bare));
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_null(denial_path_reason(others[i], &plan));
}

static void
missing_file_in_a_root_is_not_a_denial(void **state)
{
	static const char *const ordinary[] = {
		"/data/none", "/usr/lib/none", "/workspace/none",
		"/tmp/a/b",   "/workspace",    "/workspace/x/none",
		"/mnt/data",  "/mnt/data/a",   "/mnt/data/x/none",
	};
	struct denial d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ordinary); i++)
		assert_false(denial_of_path(&d, ordinary[i], ENOENT, &plan));
	assert_true(denial_of_path(&d, "/mnt/database", ENOENT, &plan));
	/* Errors on the code's own files are not denials. */
	assert_false(denial_of_path(&d, "/mnt/data/a", EACCES, &plan));
	assert_false(denial_of_path(&d, "/workspace/a", EACCES, &plan));
	assert_false(denial_of_path(&d, "relative", EACCES, &plan));
	assert_false(denial_of_path(&d, "", EACCES, &plan));
	assert_false(denial_of_path(&d, "/etc", EISDIR, &plan));
	assert_false(denial_of_path(&d, "/etc", 0, &plan));
}

static void
program_of_the_workspace_needs_its_field(void **state)
{
	static const char *const programs[] = { "/workspace/a.sh", "/tmp/x/a",
						"/mnt/data/a.sh" };
	/* Folders of the host and shared memory are never executable. */
	static const char *const others[] = { "/workspace/x/a",
					      "/dev/shm/a",
					      "/mnt/data/x/a",
					      "/usr/bin/a",
					      "/data/a",
					      "a.sh",
					      "" };
	struct policy p = policy;
	struct plan with = plan, bare, granted;
	struct denial d;

	(void)state;
	with.policy = &p;
	p.subprocess_execution = true;
	bare = granted = with;
	bare.tier = TIER_LANDLOCK;
	granted.runs_workspace = true;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		assert_true(
			denial_of_execution(&d, programs[i], EACCES, &with));
		assert_int_equal(d.field, F_WORKSPACE_EXECUTION);
		assert_string_equal(d.text, programs[i]);
		assert_string_equal(d.error, "EACCES");
		assert_false(
			denial_of_execution(&d, programs[i], ENOENT, &with));
		assert_false(
			denial_of_execution(&d, programs[i], EACCES, &plan));
		assert_false(
			denial_of_execution(&d, programs[i], EACCES, &bare));
		assert_false(
			denial_of_execution(&d, programs[i], EACCES, &granted));
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(denial_of_execution(&d, others[i], EACCES, &with));
}

static void
read_only_path_needs_a_write_root(void **state)
{
	struct denial d;

	(void)state;
	assert_true(denial_of_path(&d, "/data/a", EROFS, &plan));
	assert_int_equal(d.field, F_FILESYSTEM_WRITE_ROOTS);
	assert_true(denial_of_path(&d, "/workspace/x/a", EROFS, &plan));
	assert_int_equal(d.field, F_FILESYSTEM_WRITE_ROOTS);
	assert_true(denial_of_path(&d, "/new", EROFS, &plan));
	assert_int_equal(d.field, F_FILESYSTEM_WRITE_ROOTS);
	assert_true(denial_of_path(&d, "/usr/lib/a", EROFS, &plan));
	assert_int_equal(d.field, FIELD_TOTAL);
}

static void
long_path_is_cut(void **state)
{
	char path[4096];
	struct denial d;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_true(denial_of_path(&d, path, ENOENT, &plan));
	assert_int_equal(strlen(d.text), sizeof(d.text) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_denials_are_counted_in_one_row),
		cmocka_unit_test(number_of_rows_is_limited),
		cmocka_unit_test(every_call_and_argument_fits),
		cmocka_unit_test(
			field_is_named_only_if_it_would_allow_the_call),
		cmocka_unit_test(foreign_text_is_quoted),
		cmocka_unit_test(path_outside_all_roots_needs_a_read_root),
		cmocka_unit_test(path_that_no_jail_has_is_explained),
		cmocka_unit_test(missing_file_in_a_root_is_not_a_denial),
		cmocka_unit_test(program_of_the_workspace_needs_its_field),
		cmocka_unit_test(read_only_path_needs_a_write_root),
		cmocka_unit_test(long_path_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
