/*
 * copy: whatever code can make in its directories is in the copy, and anything
 * else is an error.
 */
#include "jail/mount/copy.h"

#include <errno.h>
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
#include "jail/mount/sweep.h"

static char directory[64];
static int top = -1, from = -1, to = -1;

static int
open_directory(int at, const char *name)
{
	if (mkdirat(at, name, 0755) < 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
open_world(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/remit-test-copy.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	from = open_directory(top, "from");
	to = open_directory(top, "to");
	return from < 0 || to < 0 || mkdirat(to, "it", 0755) < 0 ? -1 : 0;
}

static int
close_world(void **state)
{
	(void)state;
	close(from);
	close(to);
	if (sweep(top) < 0)
		return -1;
	close(top);
	return rmdir(directory);
}

static void
put_file(const char *name, const char *text, off_t at)
{
	own_fd int fd =
		openat(from, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
}

static void
copy_world(void)
{
	assert_int_equal(copy_tree(from, to, "it"), 0);
	assert_int_equal(copy_end(to), 0);
}

static struct stat
stat_copy(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static void
copy_contains_files_directories_and_links(void **state)
{
	char text[16] = "";
	own_fd int fd = -1;

	(void)state;
	assert_int_equal(mkdirat(from, "a", 0750), 0);
	put_file("a/b", "hello", 0);
	assert_int_equal(symlinkat("a/b", from, "link"), 0);
	copy_world();
	assert_int_equal(stat_copy("it/a").st_mode, S_IFDIR | 0750);
	fd = openat(to, "it/a/b", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(readlinkat(to, "it/link", text, sizeof(text)), 3);
	/* The helper directory is gone. */
	assert_int_equal(faccessat(to, ".links", F_OK, 0), -1);
}

static void
copy_keeps_modes_and_times(void **state)
{
	const struct timespec times[] = { { 100, 5 }, { 200, 7 } };
	struct stat st;

	(void)state;
	put_file("f", "x", 0);
	assert_int_equal(fchmodat(from, "f", 0400, 0), 0);
	assert_int_equal(utimensat(from, "f", times, 0), 0);
	copy_world();
	st = stat_copy("it/f");
	assert_int_equal(st.st_mode, S_IFREG | 0400);
	assert_int_equal(st.st_mtim.tv_sec, 200);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
}

static void
copy_keeps_hard_links(void **state)
{
	(void)state;
	put_file("one", "x", 0);
	assert_int_equal(mkdirat(from, "d", 0755), 0);
	assert_int_equal(linkat(from, "one", from, "d/two", 0), 0);
	copy_world();
	assert_int_equal(stat_copy("it/one").st_ino,
			 stat_copy("it/d/two").st_ino);
	assert_int_equal(stat_copy("it/one").st_nlink, 2);
}

static void
copy_keeps_holes(void **state)
{
	(void)state;
	put_file("holes", "end", (off_t)64 << 20);
	copy_world();
	assert_int_equal(stat_copy("it/holes").st_size, ((off_t)64 << 20) + 3);
	assert_true(stat_copy("it/holes").st_blocks < 1024);
}

static void
copy_refuses_a_pipe(void **state)
{
	(void)state;
	assert_int_equal(mkfifoat(from, "pipe", 0600), 0);
	assert_int_equal(copy_tree(from, to, "it"), -1);
	assert_int_equal(errno, EINVAL);
}

static void
copy_refuses_excessive_depth(void **state)
{
	int at = dup(from);

	(void)state;
	for (int i = 0; i < COPY_DEPTH + 2; i++) {
		int next = open_directory(at, "d");

		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	assert_int_equal(copy_tree(from, to, "it"), -1);
	assert_int_equal(errno, ELOOP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			copy_contains_files_directories_and_links, open_world,
			close_world),
		cmocka_unit_test_setup_teardown(copy_keeps_modes_and_times,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(copy_keeps_hard_links,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(copy_keeps_holes, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(copy_refuses_a_pipe, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(copy_refuses_excessive_depth,
						open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
