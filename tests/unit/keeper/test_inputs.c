/* inputs: which files a job may have, and which frames the jail gets. */
#include "keeper/session/inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/record.h"

#include <cmocka.h>

#define MANY (UINT64_C(1) << 40)

static char usual[] = "/workspace", home[] = "/home/user", data[] = "/mnt/data";
static char *aliases[] = { usual, data, NULL };
static const struct policy usual_policy = { .workspace = usual };
static const struct policy home_policy = {
	.workspace = home,
	.workspace_aliases = { .items = aliases, .count = 2 },
};

static int
begin_at(const struct policy *policy, struct inputs *in, const char *path,
	 uint64_t size, uint64_t max, struct remit_error *err)
{
	own(buf) struct buf b = BUF_INIT(16 * 1024);
	const struct file_head h = { path, size };

	assert_int_equal(file_head_write(&b, &h), 0);
	return inputs_begin(in, policy, b.data, b.len, max, err);
}

static int
begin(struct inputs *in, const char *path, uint64_t size, uint64_t max,
      struct remit_error *err)
{
	return begin_at(&usual_policy, in, path, size, max, err);
}

static void
paths_must_be_in_the_workspace(void **state)
{
	static const struct {
		const char *path, *becomes; /* NULL: refused */
	} rows[] = {
		{ "a.csv", "a.csv" },
		{ "/workspace/a.csv", "a.csv" },
		{ "./in//a.csv", "in/a.csv" },
		{ "/workspace//in/./a", "in/a" },
		{ ".env", ".env" },
		{ "/etc/passwd", NULL },
		{ "/tmp/a", NULL },
		{ "/workspacer/a", NULL },
		{ "/workspace", NULL },
		{ "/workspace/../etc/passwd", NULL },
		{ "../a", NULL },
		{ "in/../../a", NULL },
		{ "in/..", NULL },
		{ ".", NULL },
		{ "/", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(inputs) struct inputs in = INPUTS_INIT;
		struct remit_error err;

		if (begin(&in, rows[i].path, 0, 0, &err) < 0) {
			assert_null(rows[i].becomes);
			assert_int_equal(err.code, REMIT_E_INPUT);
			continue;
		}
		assert_non_null(rows[i].becomes);
		assert_string_equal(in.paths.items[0], rows[i].becomes);
	}
}

static void
paths_may_name_the_workspace_where_the_policy_has_it(void **state)
{
	static const struct {
		const char *path, *becomes; /* NULL: refused */
	} rows[] = {
		{ "a", "a" },
		{ "/home/user/a", "a" },
		{ "/workspace/in/a", "in/a" },
		{ "//mnt/./data//a", "a" },
		{ "home/user/a", "home/user/a" },
		{ "/home/user", NULL },
		{ "/home/user/.", NULL },
		{ "/workspace/", NULL },
		{ "/home/username/a", NULL },
		{ "/home/a", NULL },
		{ "/mnt/a", NULL },
		{ "/home/user/../a", NULL },
		{ "/workspace/../home/user/a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(inputs) struct inputs in = INPUTS_INIT;
		struct remit_error err;

		if (begin_at(&home_policy, &in, rows[i].path, 0, 0, &err) < 0) {
			assert_null(rows[i].becomes);
			assert_int_equal(err.code, REMIT_E_INPUT);
			continue;
		}
		assert_non_null(rows[i].becomes);
		assert_string_equal(in.paths.items[0], rows[i].becomes);
	}
}

static void
long_names_are_refused(void **state)
{
	own(inputs) struct inputs in = INPUTS_INIT;
	struct remit_error err;
	char path[6000];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[256] = '\0';
	assert_int_equal(begin(&in, path, 0, 0, &err), -1);
	path[255] = '\0';
	assert_int_equal(begin(&in, path, 0, 0, &err), 0);
	memset(path, 'b', sizeof(path));
	for (size_t i = 100; i < sizeof(path); i += 100)
		path[i] = '/';
	path[5000] = '\0';
	assert_int_equal(begin(&in, path, 0, 0, &err), -1);
}

static void
paths_must_not_collide(void **state)
{
	static const struct {
		const char *one, *other;
		bool collide;
	} rows[] = {
		{ "a", "a", true },	  { "a", "/workspace/./a", true },
		{ "a", "a/b", true },	  { "a/b", "a", true },
		{ "a", "ab", false },	  { "ab", "a", false },
		{ "a/b", "a/c", false },  { "a/b/c", "a/b", true },
		{ "a/bc", "a/b", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(inputs) struct inputs in = INPUTS_INIT;
		struct remit_error err;

		assert_int_equal(begin(&in, rows[i].one, 0, 0, &err), 0);
		if (begin(&in, rows[i].other, 0, 0, &err) !=
		    (rows[i].collide ? -1 : 0))
			fail_msg("%s and %s", rows[i].one, rows[i].other);
	}
}

static void
sizes_must_match_the_head_and_the_limit(void **state)
{
	own(inputs) struct inputs in = INPUTS_INIT;
	struct remit_error err;

	(void)state;
	assert_int_equal(inputs_add(&in, "x", 1, &err), -1);
	assert_int_equal(begin(&in, "a", 11, 10, &err), -1);
	assert_non_null(strstr(err.message, "input_bytes"));
	assert_int_equal(begin(&in, "a", UINT64_MAX, 10, &err), -1);
	assert_int_equal(begin(&in, "a", 7, 10, &err), 0);
	/* an incomplete file */
	assert_int_equal(begin(&in, "b", 1, 10, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
	assert_int_equal(inputs_add(&in, "12345678", 8, &err), -1);
	assert_int_equal(inputs_add(&in, "1234", 4, &err), 0);
	assert_int_equal(inputs_add(&in, "567", 3, &err), 0);
	assert_int_equal(inputs_add(&in, "8", 1, &err), -1);
	assert_int_equal(begin(&in, "b", 4, 10, &err), -1);
	assert_int_equal(begin(&in, "b", 3, 10, &err), 0);
}

static void
number_of_files_is_limited(void **state)
{
	own(inputs) struct inputs in = INPUTS_INIT;
	struct remit_error err;
	char name[24];

	(void)state;
	for (int i = 0; i < INPUTS_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(begin(&in, name, 0, 0, &err), 0);
	}
	assert_int_equal(begin(&in, "more", 0, 0, &err), -1);
}

static void
files_that_exceed_a_limit_are_refused_by_its_name(void **state)
{
	static const struct {
		struct plan_limits limits;
		enum tier tier;
		const char *where; /* NULL: it fits */
	} rows[] = {
		{ { 0 }, TIER_LOCAL, NULL },
		{ { .tmpfs_bytes = 8192,
		    .tmpfs_inodes = 8,
		    .file_bytes = 5000 },
		  TIER_LOCAL,
		  NULL },
		{ { .tmpfs_bytes = 8191 }, TIER_LOCAL, "disk_bytes" },
		{ { .tmpfs_inodes = 7 }, TIER_LOCAL, "files" },
		{ { .file_bytes = 4999 }, TIER_LOCAL, "file_bytes" },
		{ { 0 }, TIER_UNSAFE, "tier" },
	};
	own(inputs) struct inputs in = INPUTS_INIT;
	static char bytes[5000];
	struct remit_error err;

	(void)state;
	assert_int_equal(begin(&in, "in/a", 5000, MANY, &err), 0);
	assert_int_equal(inputs_check(&in, &(struct plan){ 0 }, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
	assert_int_equal(inputs_add(&in, bytes, 5000, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan plan = { .tier = rows[i].tier,
				     .limits = rows[i].limits };

		err = (struct remit_error){ 0 };
		assert_int_equal(inputs_check(&in, &plan, &err),
				 rows[i].where ? -1 : 0);
		assert_string_equal(err.where,
				    rows[i].where ? rows[i].where : "");
	}
}

static void
files_are_sent_as_frames(void **state)
{
	own(inputs) struct inputs in = INPUTS_INIT;
	own(link) struct link jail = LINK_INIT;
	struct remit_error err;
	struct frame f;
	uint64_t seen = 0;
	size_t used;

	(void)state;
	assert_int_equal(begin(&in, "/workspace/a", 3, 10, &err), 0);
	assert_int_equal(inputs_add(&in, "xyz", 3, &err), 0);
	jail.out.cap = 10;
	assert_int_equal(inputs_send(&in, &jail, &err), 0);
	assert_int_equal(frame_parse(jail.out.data, jail.out.len, PARTY_KEEPER,
				     &seen, &f, &used, &err),
			 0);
	assert_int_equal(f.type, FRAME_FILE);
	assert_int_equal(f.len, 14);
	assert_memory_equal(f.payload,
			    "path\0a\0size\0"
			    "3",
			    14);
	assert_int_equal(frame_parse(jail.out.data + used, jail.out.len - used,
				     PARTY_KEEPER, &seen, &f, &used, &err),
			 0);
	assert_int_equal(f.type, FRAME_FILE_DATA);
	assert_memory_equal(f.payload, "xyz", 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_must_be_in_the_workspace),
		cmocka_unit_test(
			paths_may_name_the_workspace_where_the_policy_has_it),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(paths_must_not_collide),
		cmocka_unit_test(sizes_must_match_the_head_and_the_limit),
		cmocka_unit_test(number_of_files_is_limited),
		cmocka_unit_test(
			files_that_exceed_a_limit_are_refused_by_its_name),
		cmocka_unit_test(files_are_sent_as_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
