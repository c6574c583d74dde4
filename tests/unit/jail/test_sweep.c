/*
 * sweep: removes whatever code can make in a directory.
 */
#include "jail/mount/sweep.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/own.h"

static char directory[64];
static int top = -1;

static int
open_world(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/remit-test-sweep.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : 0;
}

/* rmdir removes only an empty directory. */
static int
close_world(void **state)
{
	(void)state;
	close(top);
	return rmdir(directory);
}

static void
put_file(int at, const char *name, mode_t mode)
{
	own_fd int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	assert_true(fd >= 0);
}

static void
sweep_keeps_an_empty_directory(void **state)
{
	(void)state;
	assert_int_equal(sweep(top), 0);
}

static void
sweep_of_deep_directories_needs_no_descriptors(void **state)
{
	int at = dup(top);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		put_file(at, "f", 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	assert_int_equal(sweep(top), 0);
}

static void
sweep_survives_names_that_are_taken(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d", i);
		if (i % 3 == 0)
			put_file(top, name, 0600);
		else
			assert_int_equal(mkdirat(top, name, 0700), 0);
		if (i % 3 != 1)
			continue;
		snprintf(name, sizeof(name), "%d/%d", i, i);
		assert_int_equal(mkdirat(top, name, 0700), 0);
		snprintf(name, sizeof(name), "%d/%d/%d", i, i, i);
		assert_int_equal(mkdirat(top, name, 0700), 0);
	}
	assert_int_equal(sweep(top), 0);
}

static void
sweep_removes_directories_without_permissions(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(top, "a", 0700), 0);
	assert_int_equal(mkdirat(top, "a/b", 0700), 0);
	assert_int_equal(mkdirat(top, "a/b/c", 0700), 0);
	put_file(top, "a/b/c/f", 0);
	assert_int_equal(fchmodat(top, "a/b/c", 0, 0), 0);
	assert_int_equal(fchmodat(top, "a/b", 0, 0), 0);
	assert_int_equal(fchmodat(top, "a", 0, 0), 0);
	assert_int_equal(sweep(top), 0);
}

static void
sweep_removes_links_without_following_them(void **state)
{
	char outside[] = "/tmp/remit-test-outside.XXXXXX";
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(outside));
	assert_int_equal(symlinkat(outside, top, "link"), 0);
	assert_int_equal(mkdirat(top, "d", 0700), 0);
	assert_int_equal(symlinkat(outside, top, "d/link"), 0);
	assert_int_equal(symlinkat("..", top, "d/up"), 0);
	assert_int_equal(sweep(top), 0);
	assert_int_equal(stat(outside, &st), 0);
	assert_int_equal(rmdir(outside), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweep_keeps_an_empty_directory),
		cmocka_unit_test(
			sweep_of_deep_directories_needs_no_descriptors),
		cmocka_unit_test(sweep_survives_names_that_are_taken),
		cmocka_unit_test(sweep_removes_directories_without_permissions),
		cmocka_unit_test(sweep_removes_links_without_following_them),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
