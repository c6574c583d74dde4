/* artifacts: files of a keeper are written below one directory, and nowhere
   else. */
#include "client/files/artifacts.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/path.h"
#include "wire/record.h"

#include <cmocka.h>

struct place {
	char top[64]; /* only the directory in it may change */
	char directory[80];
	struct artifacts artifacts;
	json_t *result;
};

static int
set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct remit_error err;

	snprintf(p->top, sizeof(p->top), "/tmp/remit-artifacts-XXXXXX");
	if (!mkdtemp(p->top))
		return -1;
	snprintf(p->directory, sizeof(p->directory), "%s/out", p->top);
	p->artifacts = (struct artifacts)ARTIFACTS_INIT;
	p->result = json_pack("{s:[], s:[]}", "artifacts", "artifacts_skipped");
	*state = p;
	return artifacts_open(&p->artifacts, p->directory, &err);
}

static int
tear_down(void **state)
{
	struct place *p = *state;
	char command[128];

	artifacts_free(&p->artifacts);
	json_decref(p->result);
	snprintf(command, sizeof(command), "rm -rf %s", p->top);
	assert_int_equal(system(command), 0); /* NOLINT */
	free(p);
	return 0;
}

static int
begin_artifact(struct place *p, const char *path, uint64_t size,
	       struct remit_error *err)
{
	own(buf) struct buf b = BUF_INIT(16 * 1024);
	const struct file_head h = { path, size };

	assert_int_equal(file_head_write(&b, &h), 0);
	return artifacts_begin(&p->artifacts, b.data, b.len, err);
}

static void
send_file(struct place *p, const char *path, const char *text)
{
	struct remit_error err;
	size_t n = strlen(text);

	assert_int_equal(begin_artifact(p, path, n, &err), 0);
	for (size_t i = 0; i < n; i += 2)
		assert_int_equal(artifacts_add(&p->artifacts, text + i,
					       n - i < 2 ? 1 : 2, &err),
				 0);
}

static void
report_result(struct place *p)
{
	struct remit_error err;

	assert_int_equal(artifacts_report(&p->artifacts, p->result, &err), 0);
}

static const json_t *
skipped_row(const struct place *p, const char *list, const char *path)
{
	const json_t *rows = json_object_get(p->result, list);

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *r = json_array_get(rows, i);

		if (!strcmp(json_string_value(json_object_get(r, "path")),
			    path))
			return r;
	}
	return NULL;
}

static void
file_contains(const struct place *p, const char *path, const char *text)
{
	own(buf) struct buf b = BUF_INIT(1024);
	struct remit_error err;
	char name[200];

	snprintf(name, sizeof(name), "%s/%s", p->top, path);
	assert_int_equal(path_read_file(&b, name, &err), 0);
	assert_string_equal(buf_text(&b), text);
}

/* Count the names in a directory, including "." and "..". */
static int
count_names(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
artifacts_are_private_to_the_owner_and_sorted_by_path(void **state)
{
	struct place *p = *state;
	const json_t *a;
	struct stat st;
	char path[200];

	send_file(p, "b.csv", "x,y\n");
	send_file(p, "deep/er/a.txt", "hello");
	send_file(p, "deep/empty", "");
	report_result(p);
	file_contains(p, "out/b.csv", "x,y\n");
	file_contains(p, "out/deep/er/a.txt", "hello");
	file_contains(p, "out/deep/empty", "");
	a = skipped_row(p, "artifacts", "deep/er/a.txt");
	assert_int_equal(json_integer_value(json_object_get(a, "size_bytes")),
			 5);
	assert_string_equal(
		json_string_value(json_object_get(a, "content_type")),
		"text/plain");
	snprintf(path, sizeof(path), "%s/deep/er/a.txt", p->directory);
	assert_string_equal(json_string_value(json_object_get(a, "host_path")),
			    path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	a = json_object_get(p->result, "artifacts");
	assert_int_equal(json_array_size(a), 3);
	assert_ptr_equal(json_array_get(a, 0),
			 skipped_row(p, "artifacts", "b.csv"));
	assert_ptr_equal(json_array_get(a, 1),
			 skipped_row(p, "artifacts", "deep/empty"));
	assert_int_equal(count_names(p->directory), 2 + 2);
}

static void
artifacts_never_replace_existing_files(void **state)
{
	struct place *p = *state;
	char path[200], target[200];

	send_file(p, "a", "first");
	send_file(p, "a", "second");
	snprintf(path, sizeof(path), "%s/link", p->directory);
	snprintf(target, sizeof(target), "%s/victim", p->top);
	assert_int_equal(symlink(target, path), 0);
	send_file(p, "link", "through");
	snprintf(path, sizeof(path), "%s/folder", p->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	send_file(p, "folder", "file");
	send_file(p, "a/b", "below a file");
	report_result(p);
	file_contains(p, "out/a", "first");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(
		json_array_size(json_object_get(p->result, "artifacts")), 1);
	assert_int_equal(json_array_size(json_object_get(p->result,
							 "artifacts_skipped")),
			 4);
	assert_non_null(skipped_row(p, "artifacts_skipped", "a"));
	assert_non_null(skipped_row(p, "artifacts_skipped", "link"));
	assert_non_null(skipped_row(p, "artifacts_skipped", "a/b"));
	assert_int_equal(count_names(p->directory), 2 + 3);
}

static void
artifacts_do_not_follow_a_link_to_a_directory(void **state)
{
	struct place *p = *state;
	char path[200];

	snprintf(path, sizeof(path), "%s/deep", p->directory);
	assert_int_equal(symlink(p->top, path), 0);
	send_file(p, "deep/a", "x");
	report_result(p);
	assert_non_null(skipped_row(p, "artifacts_skipped", "deep/a"));
	assert_int_equal(count_names(p->top), 2 + 1);
}

static void
artifact_names_outside_the_directory_break_the_protocol(void **state)
{
	static const char *const bad[] = { "../a", "/etc/a", "a/../../b", "",
					   "a\nb", "-rf",    "a/" };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct remit_error err;

		assert_int_equal(begin_artifact(p, bad[i], 0, &err), -1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	}
	assert_int_equal(count_names(p->directory), 2);
}

static void
incomplete_artifact_leaves_no_file(void **state)
{
	struct place *p = *state;
	struct remit_error err;

	assert_int_equal(begin_artifact(p, "a", 10, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12345", 5, &err), 0);
	assert_int_equal(begin_artifact(p, "b", 10, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12345", 5, &err), 0);
	report_result(p);
	assert_int_equal(count_names(p->directory), 2);
	assert_int_equal(
		json_array_size(json_object_get(p->result, "artifacts")), 0);
	assert_int_equal(begin_artifact(p, "c", 1, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12", 2, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
}

static void
artifacts_fail_if_the_directory_cannot_be_made(void **state)
{
	struct place *p = *state;
	struct artifacts a = ARTIFACTS_INIT;
	struct remit_error err;
	char path[200];

	send_file(p, "a", "x");
	snprintf(path, sizeof(path), "%s/a", p->directory);
	assert_int_equal(artifacts_open(&a, path, &err), -1);
	assert_int_equal(err.code, REMIT_E_INPUT);
	artifacts_free(&a);
	assert_int_equal(artifacts_open(&a, "/nowhere/at/all", &err), -1);
	artifacts_free(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(artifacts_are_private_to_the_owner_and_sorted_by_path),
		TEST(artifacts_never_replace_existing_files),
		TEST(artifacts_do_not_follow_a_link_to_a_directory),
		TEST(artifact_names_outside_the_directory_break_the_protocol),
		TEST(incomplete_artifact_leaves_no_file),
		TEST(artifacts_fail_if_the_directory_cannot_be_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
