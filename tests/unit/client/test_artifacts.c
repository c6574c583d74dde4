/* artifacts: what a keeper sends is written below one directory, and nowhere
 * else.
 */
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
	char top[64]; /* not to be touched but for the directory below */
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
begin(struct place *p, const char *path, uint64_t size, struct remit_error *err)
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

	assert_int_equal(begin(p, path, n, &err), 0);
	for (size_t i = 0; i < n; i += 2)
		assert_int_equal(artifacts_add(&p->artifacts, text + i,
					       n - i < 2 ? 1 : 2, &err),
				 0);
}

static void
tell(struct place *p)
{
	struct remit_error err;

	assert_int_equal(artifacts_tell(&p->artifacts, p->result, &err), 0);
}

static const json_t *
row(const struct place *p, const char *list, const char *path)
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
holds(const struct place *p, const char *path, const char *text)
{
	own(buf) struct buf b = BUF_INIT(1024);
	struct remit_error err;
	char name[200];

	snprintf(name, sizeof(name), "%s/%s", p->top, path);
	assert_int_equal(path_read_file(&b, name, &err), 0);
	assert_string_equal(buf_text(&b), text);
}

/* Names in a directory, "." and ".." among them. */
static int
count(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
files_are_written_for_their_owner_and_listed_in_order(void **state)
{
	struct place *p = *state;
	const json_t *a;
	struct stat st;
	char path[200];

	send_file(p, "b.csv", "x,y\n");
	send_file(p, "deep/er/a.txt", "hello");
	send_file(p, "deep/empty", "");
	tell(p);
	holds(p, "out/b.csv", "x,y\n");
	holds(p, "out/deep/er/a.txt", "hello");
	holds(p, "out/deep/empty", "");
	a = row(p, "artifacts", "deep/er/a.txt");
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
	assert_ptr_equal(json_array_get(a, 0), row(p, "artifacts", "b.csv"));
	assert_ptr_equal(json_array_get(a, 1),
			 row(p, "artifacts", "deep/empty"));
	assert_int_equal(count(p->directory), 2 + 2);
}

static void
what_is_there_stays(void **state)
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
	tell(p);
	holds(p, "out/a", "first");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(
		json_array_size(json_object_get(p->result, "artifacts")), 1);
	assert_int_equal(json_array_size(json_object_get(p->result,
							 "artifacts_skipped")),
			 4);
	assert_non_null(row(p, "artifacts_skipped", "a"));
	assert_non_null(row(p, "artifacts_skipped", "link"));
	assert_non_null(row(p, "artifacts_skipped", "a/b"));
	assert_int_equal(count(p->directory), 2 + 3);
}

static void
a_link_to_a_directory_leads_nowhere(void **state)
{
	struct place *p = *state;
	char path[200];

	snprintf(path, sizeof(path), "%s/deep", p->directory);
	assert_int_equal(symlink(p->top, path), 0);
	send_file(p, "deep/a", "x");
	tell(p);
	assert_non_null(row(p, "artifacts_skipped", "deep/a"));
	assert_int_equal(count(p->top), 2 + 1);
}

static void
names_that_lead_out_break_the_protocol(void **state)
{
	static const char *const bad[] = { "../a", "/etc/a", "a/../../b", "",
					   "a\nb", "-rf",    "a/" };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct remit_error err;

		assert_int_equal(begin(p, bad[i], 0, &err), -1);
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	}
	assert_int_equal(count(p->directory), 2);
}

static void
half_a_file_is_none(void **state)
{
	struct place *p = *state;
	struct remit_error err;

	assert_int_equal(begin(p, "a", 10, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12345", 5, &err), 0);
	assert_int_equal(begin(p, "b", 10, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12345", 5, &err), 0);
	tell(p);
	assert_int_equal(count(p->directory), 2);
	assert_int_equal(
		json_array_size(json_object_get(p->result, "artifacts")), 0);
	assert_int_equal(begin(p, "c", 1, &err), 0);
	assert_int_equal(artifacts_add(&p->artifacts, "12", 2, &err), -1);
	assert_int_equal(err.code, REMIT_E_PROTOCOL);
}

static void
a_directory_that_cannot_be_is_an_error(void **state)
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
		TEST(files_are_written_for_their_owner_and_listed_in_order),
		TEST(what_is_there_stays),
		TEST(a_link_to_a_directory_leads_nowhere),
		TEST(names_that_lead_out_break_the_protocol),
		TEST(half_a_file_is_none),
		TEST(a_directory_that_cannot_be_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
