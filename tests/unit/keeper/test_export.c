/* export: which files of a hostile directory are exported. */
#include "keeper/output/export.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/text.h"
#include "wire/record.h"

#include <cmocka.h>

/* A workspace, the policy of its export, and the outcome. */
struct field_trip {
	char directory[64];
	int fd;
	struct policy policy;
	struct plan plan;
	struct export export;
	struct link client;
	json_t *given;	 /* path: content */
	json_t *skipped; /* path: reason */
	int steps;
};

static int
set_up(void **state)
{
	struct field_trip *t = calloc(1, sizeof(*t));

	snprintf(t->directory, sizeof(t->directory),
		 "/tmp/remit-export-XXXXXX");
	if (!mkdtemp(t->directory) || policy_init(&t->policy) < 0)
		return -1;
	t->fd = open(t->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->plan.policy = &t->policy;
	t->export = (struct export)EXPORT_INIT;
	t->client = (struct link)LINK_INIT;
	t->given = json_object();
	t->skipped = json_object();
	*state = t;
	return t->fd < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	struct field_trip *t = *state;
	char command[128];

	export_free(&t->export);
	link_free(&t->client);
	policy_free(&t->policy);
	json_decref(t->given);
	json_decref(t->skipped);
	close(t->fd);
	snprintf(command, sizeof(command), "rm -rf %s", t->directory);
	assert_int_equal(system(command), 0); /* NOLINT */
	free(t);
	return 0;
}

static void
put(struct field_trip *t, const char *path, const char *text)
{
	own_fd int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
directory(struct field_trip *t, const char *path)
{
	assert_int_equal(mkdirat(t->fd, path, 0700), 0);
}

static void
want(struct field_trip *t, const char *pattern)
{
	assert_int_equal(list_add(&t->policy.artifact_export_paths, pattern),
			 0);
}

static void
read_given(struct field_trip *t)
{
	own(buf) struct buf content = BUF_INIT(1 << 20);
	struct file_head h = { 0 };
	struct remit_error err;
	size_t at = 0, used;
	uint64_t seen = 0;

	while (at < t->client.out.len) {
		struct frame f;

		assert_int_equal(frame_parse(t->client.out.data + at,
					     t->client.out.len - at,
					     PARTY_KEEPER, &seen, &f, &used,
					     &err),
				 0);
		if (f.type == FRAME_ARTIFACT) {
			buf_free(&content);
			assert_int_equal(
				file_head_read(&h, f.payload, f.len, &err), 0);
		} else {
			assert_int_equal(f.type, FRAME_ARTIFACT_DATA);
			assert_int_equal(buf_add(&content, f.payload, f.len),
					 0);
		}
		if (content.len == h.size_bytes)
			json_object_set_new(
				t->given, h.path,
				text_to_json(buf_text(&content), content.len));
		at += used;
	}
}

static void
read_skipped(struct field_trip *t)
{
	own(buf) struct buf text = BUF_INIT(1 << 22);
	json_t *rows, *row;
	size_t i;

	assert_int_equal(export_write_skipped(&t->export, &text), 0);
	rows = json_loadb(text.data, text.len, 0, NULL);
	assert_non_null(rows);
	json_array_foreach(rows, i, row)
	{
		json_object_set(t->skipped,
				json_string_value(json_object_get(row, "path")),
				json_object_get(row, "reason"));
	}
	json_decref(rows);
}

static void
open_it(struct field_trip *t)
{
	struct remit_error err;
	int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);

	assert_int_equal(export_open(&t->export, &t->plan, fd, &err), 0);
}

static void
walk(struct field_trip *t)
{
	struct remit_error err;

	open_it(t);
	for (; !t->export.over; t->steps++)
		assert_int_equal(export_step(&t->export, &t->client, &err), 0);
	read_given(t);
	read_skipped(t);
}

static void
given(const struct field_trip *t, const char *path, const char *content)
{
	const char *is = json_string_value(json_object_get(t->given, path));

	if (!is || strcmp(is, content))
		fail_msg("%s is %s", path, is ? is : "not given");
}

static void
skipped(const struct field_trip *t, const char *path, const char *words)
{
	const char *is = json_string_value(json_object_get(t->skipped, path));

	if (!is || !strstr(is, words))
		fail_msg("%s: %s", path, is ? is : "not skipped");
	assert_null(json_object_get(t->given, path));
}

static void
only(const struct field_trip *t, size_t given_count, size_t skipped_count)
{
	assert_int_equal(json_object_size(t->given), given_count);
	assert_int_equal(json_object_size(t->skipped), skipped_count);
}

static void
matching_files_are_exported_completely(void **state)
{
	struct field_trip *t = *state;

	directory(t, "out");
	directory(t, "out/deep");
	directory(t, "other");
	put(t, "a.csv", "1,2");
	put(t, "empty.csv", "");
	put(t, "b.txt", "no");
	put(t, ".hidden.csv", "no");
	put(t, "out/c", "yes");
	put(t, "out/deep/d", "yes");
	put(t, "other/e.csv", "no");
	want(t, "*.csv");
	want(t, "/workspace//out/./");
	walk(t);
	given(t, "a.csv", "1,2");
	given(t, "empty.csv", "");
	given(t, "out/c", "yes");
	given(t, "out/deep/d", "yes");
	only(t, 4, 0);
}

static void
only_regular_files_are_opened(void **state)
{
	struct field_trip *t = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	own_fd int s = socket(AF_UNIX, SOCK_STREAM, 0);

	put(t, "good", "x");
	put(t, "twice", "x");
	assert_int_equal(linkat(t->fd, "twice", t->fd, "again", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", t->fd, "passwd"), 0);
	assert_int_equal(symlinkat("good", t->fd, "inner"), 0);
	assert_int_equal(symlinkat("self", t->fd, "self"), 0);
	assert_int_equal(symlinkat("/etc", t->fd, "etc"), 0);
	assert_int_equal(mkfifoat(t->fd, "fifo", 0600), 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/socket",
		 t->directory);
	assert_int_equal(bind(s, (void *)&addr, sizeof(addr)), 0);
	directory(t, "folder");
	want(t, "*");
	want(t, "etc/*");
	walk(t);
	given(t, "good", "x");
	skipped(t, "twice", "more than one name");
	skipped(t, "again", "more than one name");
	skipped(t, "passwd", "link");
	skipped(t, "inner", "link");
	skipped(t, "self", "link");
	skipped(t, "etc", "link");
	skipped(t, "fifo", "regular");
	skipped(t, "socket", "regular");
	skipped(t, "folder", "folder");
	only(t, 1, 9);
}

static void
files_with_unsafe_names_are_skipped(void **state)
{
	static const char *const bad[] = { "a\nb", "\x1b[2J", "-rf", "\xff" };
	struct field_trip *t = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		put(t, bad[i], "x");
	put(t, "caf\xc3\xa9 %2e%2e", "x");
	directory(t, "-d");
	put(t, "-d/x", "x");
	want(t, "**");
	walk(t);
	given(t, "caf\xc3\xa9 %2e%2e", "x");
	skipped(t, "a\nb", "name");
	skipped(t, "\x1b[2J", "name");
	skipped(t, "-rf", "name");
	skipped(t, "-d", "name");
	skipped(t, "\xef\xbf\xbd", "name");
	only(t, 1, 5);
}

static void
sizes_are_limited(void **state)
{
	struct field_trip *t = *state;
	own_fd int sparse = openat(t->fd, "sparse", O_WRONLY | O_CREAT, 0600);

	put(t, "long", "123456");
	put(t, "a", "12345");
	put(t, "b", "12345");
	put(t, "c", "12345");
	assert_int_equal(ftruncate(sparse, (off_t)1 << 40), 0);
	t->policy.artifact_file_bytes = 5;
	t->policy.artifact_bytes = 14;
	want(t, "*");
	walk(t);
	skipped(t, "sparse", "artifact_file_bytes");
	skipped(t, "long", "artifact_file_bytes");
	only(t, 2, 3);
	assert_int_equal(t->export.total_bytes, 10);
}

static void
sparse_file_is_exported_at_full_length(void **state)
{
	struct field_trip *t = *state;
	own_fd int sparse = openat(t->fd, "sparse", O_WRONLY | O_CREAT, 0600);

	assert_int_equal(ftruncate(sparse, 200000), 0);
	want(t, "*");
	walk(t);
	only(t, 1, 0);
	assert_int_equal(t->client.out.len - 200000 < 200, 1);
}

static void
skipped_files_are_listed_up_to_a_maximum(void **state)
{
	struct field_trip *t = *state;
	char name[24];

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%d", i);
		put(t, name, "");
	}
	t->policy.artifact_files = 7;
	want(t, "*");
	walk(t);
	only(t, 7, EXPORT_SKIPPED_MAX + 1);
	skipped(t, "", "393 more");
}

static void
depth_is_limited_without_recursion(void **state)
{
	struct field_trip *t = *state;
	own_fd int at = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);

	for (int i = 0; i < 1000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		next = openat(at, "f", O_WRONLY | O_CREAT, 0600);
		close(next);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	t->policy.artifact_depth = 3;
	want(t, "**");
	walk(t);
	given(t, "f", "");
	given(t, "d/f", "");
	given(t, "d/d/f", "");
	skipped(t, "d/d/d", "artifact_depth");
	only(t, 3, 1);
	assert_true(t->steps < 20);
}

static void
maximum_depth_ends(void **state)
{
	struct field_trip *t = *state;
	own_fd int at = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	char name[201];

	memset(name, 'd', 200);
	name[200] = '\0';
	for (int i = 0; i < 100; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0700), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	t->policy.artifact_depth = EXPORT_DEPTH_MAX;
	want(t, "**");
	walk(t);
	/* The path becomes too long before it becomes too deep. */
	assert_int_equal(t->export.skipped_count, 1);
}

static void
directories_without_matches_are_not_opened(void **state)
{
	struct field_trip *t = *state;
	char name[24];

	directory(t, "other");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "other/%d.csv", i);
		put(t, name, "");
	}
	put(t, "a.csv", "x");
	want(t, "*.csv");
	walk(t);
	only(t, 1, 0);
	assert_true(t->steps < 10);
}

static void
mount_points_are_skipped(void **state)
{
	struct field_trip *t = *state;
	struct plan_mount mounts[] = {
		{ .jail = "/usr/lib" },
		{ .jail = "/workspace/data.csv" },
		{ .jail = "/workspace/data" },
	};

	put(t, "data.csv", "");
	directory(t, "data");
	put(t, "other.csv", "");
	t->plan.mounts = mounts;
	t->plan.mount_count = ARRAY_LEN(mounts);
	want(t, "**");
	walk(t);
	skipped(t, "data.csv", "mount");
	skipped(t, "data", "mount");
	only(t, 1, 2);
}

static void
export_stopped_in_a_file_reports_it_as_skipped(void **state)
{
	struct field_trip *t = *state;
	struct remit_error err;
	static char text[200001];

	memset(text, 'x', sizeof(text) - 1);
	put(t, "a", text);
	want(t, "*");
	open_it(t);
	while (t->export.file < 0)
		assert_int_equal(export_step(&t->export, &t->client, &err), 0);
	assert_int_equal(export_step(&t->export, &t->client, &err), 0);
	assert_int_equal(export_stop(&t->export, &err), 0);
	assert_true(t->export.over);
	assert_int_equal(export_step(&t->export, &t->client, &err), 0);
	assert_int_equal(export_stop(&t->export, &err), 0);
	read_given(t);
	read_skipped(t);
	skipped(t, "a", "artifact_time");
	only(t, 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(matching_files_are_exported_completely),
		TEST(only_regular_files_are_opened),
		TEST(files_with_unsafe_names_are_skipped),
		TEST(sizes_are_limited),
		TEST(sparse_file_is_exported_at_full_length),
		TEST(skipped_files_are_listed_up_to_a_maximum),
		TEST(depth_is_limited_without_recursion),
		TEST(maximum_depth_ends),
		TEST(directories_without_matches_are_not_opened),
		TEST(mount_points_are_skipped),
		TEST(export_stopped_in_a_file_reports_it_as_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
