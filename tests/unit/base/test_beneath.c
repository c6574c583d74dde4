/* beneath: opening and creating paths below a directory. */
#include "base/file/beneath.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"

#include <cmocka.h>

static void
beneath_open_opens_only_paths_below(void **state)
{
	static const struct {
		const char *path;
		uint64_t flags;
		int error;
	} rows[] = {
		{ "file", O_RDONLY, 0 },
		{ "dir/file", O_RDONLY, 0 },
		{ ".", O_RDONLY | O_DIRECTORY, 0 },
		{ "dir", O_PATH | O_DIRECTORY, 0 },
		{ "link", O_PATH, 0 },
		{ "fifo", O_RDONLY, 0 }, /* does not wait for a writer */
		{ "link", O_RDONLY, ELOOP },
		{ "to_dir/file", O_RDONLY, ELOOP },
		{ "to_dir", O_PATH | O_DIRECTORY, ENOTDIR },
		{ "..", O_RDONLY | O_DIRECTORY, EXDEV },
		{ "dir/../../x", O_RDONLY, EXDEV },
		{ "/etc/passwd", O_RDONLY, EXDEV },
		{ "none", O_RDONLY, ENOENT },
	};
	char directory[] = "/tmp/remit-beneath-XXXXXX", command[64];
	own_fd int top = -1;

	(void)state;
	assert_non_null(mkdtemp(directory));
	top = open(directory, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(top, "dir", 0700), 0);
	close(openat(top, "file", O_WRONLY | O_CREAT, 0600));
	close(openat(top, "dir/file", O_WRONLY | O_CREAT, 0600));
	assert_int_equal(symlinkat("file", top, "link"), 0);
	assert_int_equal(symlinkat("dir", top, "to_dir"), 0);
	assert_int_equal(mkfifoat(top, "fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own_fd int fd = beneath_open(top, rows[i].path, rows[i].flags);

		if ((fd < 0 ? errno : 0) != rows[i].error)
			fail_msg("%s: %d", rows[i].path, fd < 0 ? errno : 0);
		if (fd >= 0)
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT */
}

/* Missing directories are created, and links are not followed. */
static void
beneath_make_parent_creates_missing_directories(void **state)
{
	static const struct {
		const char *path, *name;
		int error;
	} rows[] = {
		{ "a", "a", 0 },
		{ "dir/a", "a", 0 },
		{ "new/newer/a", "a", 0 },
		{ "new/newer/b", "b", 0 },
		{ "to_dir/a", NULL, ENOTDIR },
		{ "file/a", NULL, ENOTDIR },
		{ "dir/../a", NULL, EINVAL },
		{ "./a", NULL, EINVAL },
		{ "/etc/a", NULL, EINVAL },
		{ "dir//a", NULL, EINVAL },
	};
	char directory[] = "/tmp/remit-beneath-XXXXXX", command[64];
	char longest[NAME_MAX + 4];
	own_fd int top = -1;
	const char *name;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(directory));
	top = open(directory, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(top, "dir", 0700), 0);
	close(openat(top, "file", O_WRONLY | O_CREAT, 0600));
	assert_int_equal(symlinkat("dir", top, "to_dir"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own_fd int fd =
			beneath_make_parent(top, rows[i].path, 0750, &name);

		if ((fd < 0 ? errno : 0) != rows[i].error)
			fail_msg("%s: %d", rows[i].path, fd < 0 ? errno : 0);
		if (fd < 0)
			continue;
		assert_string_equal(name, rows[i].name);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(mkdirat(fd, name, 0700), 0);
		assert_int_equal(fstatat(top, rows[i].path, &st, 0), 0);
	}
	assert_int_equal(fstatat(top, "new/newer", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + NAME_MAX + 1, "/a", 3);
	assert_int_equal(beneath_make_parent(top, longest, 0700, &name), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beneath_open_opens_only_paths_below),
		cmocka_unit_test(
			beneath_make_parent_creates_missing_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
