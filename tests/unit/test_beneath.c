/* beneath: what lies below a folder, and nothing else. */
#include "beneath.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "own.h"

#include <cmocka.h>

static void
only_what_lies_below_is_opened(void **state)
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
		{ "fifo", O_RDONLY, 0 }, /* without waiting for a writer */
		{ "link", O_RDONLY, ELOOP },
		{ "to_dir/file", O_RDONLY, ELOOP },
		{ "to_dir", O_PATH | O_DIRECTORY, ENOTDIR },
		{ "..", O_RDONLY | O_DIRECTORY, EXDEV },
		{ "dir/../../x", O_RDONLY, EXDEV },
		{ "/etc/passwd", O_RDONLY, EXDEV },
		{ "none", O_RDONLY, ENOENT },
	};
	char folder[] = "/tmp/remit-beneath-XXXXXX", command[64];
	own_fd int top = -1;

	(void)state;
	assert_non_null(mkdtemp(folder));
	top = open(folder, O_RDONLY | O_DIRECTORY);
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
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0); /* NOLINT */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_lies_below_is_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
