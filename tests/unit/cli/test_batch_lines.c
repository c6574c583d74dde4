/* batch_lines: lines of a file, one at a time. */
#include "cli/batch/lines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int
file_of(const char *text, size_t len)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void
expect_line(struct batch_lines *l, const char *text)
{
	struct remit_error err;

	assert_int_equal(batch_lines_next(l, &err), BATCH_LINES_GIVEN);
	assert_string_equal(buf_text(&l->line), text);
	assert_int_equal(l->line.len, strlen(text));
	assert_false(l->is_long);
}

static void
expect_end(struct batch_lines *l)
{
	struct remit_error err;

	assert_int_equal(batch_lines_next(l, &err), BATCH_LINES_END);
	assert_int_equal(batch_lines_next(l, &err), BATCH_LINES_END);
}

static void
lines_have_consecutive_numbers_and_end_offsets(void **state)
{
	static const char text[] = "one\n\n  \nlast";
	own_fd int fd = file_of(text, strlen(text));
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(fd, 100);

	(void)state;
	expect_line(&l, "one");
	assert_int_equal(l.number, 1);
	assert_int_equal(l.end, 4);
	assert_false(l.is_torn || batch_lines_is_blank(&l));
	expect_line(&l, "");
	assert_true(batch_lines_is_blank(&l));
	expect_line(&l, "  ");
	assert_true(batch_lines_is_blank(&l));
	expect_line(&l, "last");
	assert_int_equal(l.number, 4);
	assert_int_equal(l.end, strlen(text));
	assert_true(l.is_torn);
	expect_end(&l);
	assert_int_equal(batch_lines_count(fd), 2);
}

static void
empty_file_has_no_lines(void **state)
{
	own_fd int fd = file_of("", 0);
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(fd, 100);

	(void)state;
	expect_end(&l);
	assert_int_equal(l.number, 0);
	assert_int_equal(batch_lines_count(fd), 0);
}

/* These lines are longer than a piece, so they are assembled from several
   pieces. */
static void
lines_longer_than_a_read_are_complete(void **state)
{
	enum { LENGTH = 200000, LINES = 7 };
	own_mem char *line = malloc(LENGTH + 1);
	own(buf) struct buf all = BUF_INIT((LENGTH + 1) * LINES);
	own_fd int fd = -1;
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(-1, LENGTH);

	(void)state;
	for (int i = 0; i < LINES; i++) {
		memset(line, 'a' + i, LENGTH - (size_t)i);
		assert_int_equal(buf_add(&all, line, LENGTH - (size_t)i), 0);
		assert_int_equal(buf_add(&all, "\n", 1), 0);
	}
	l.fd = fd = file_of(all.data, all.len);
	for (int i = 0; i < LINES; i++) {
		memset(line, 'a' + i, LENGTH);
		line[LENGTH - i] = '\0';
		expect_line(&l, line);
	}
	expect_end(&l);
	assert_int_equal(batch_lines_count(fd), LINES);
}

static void
line_over_the_limit_is_flagged_and_skipped(void **state)
{
	static const char text[] = "1234\n12345\n     \n123\n";
	own_fd int fd = file_of(text, strlen(text));
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(fd, 4);
	struct remit_error err;

	(void)state;
	expect_line(&l, "1234");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(batch_lines_next(&l, &err), BATCH_LINES_GIVEN);
		assert_true(l.is_long);
		assert_int_equal(l.line.len, 0);
		assert_false(batch_lines_is_blank(&l));
	}
	expect_line(&l, "123");
	assert_int_equal(l.number, 4);
	expect_end(&l);
}

static void
partial_line_is_dropped_on_stop(void **state)
{
	struct remit_error err;
	int input[2], stop[2];

	(void)state;
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(input[0], 100);

	l.stop_fd = stop[0];
	assert_int_equal(write(input[1], "whole\nhal", 9), 9);
	expect_line(&l, "whole");
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(batch_lines_next(&l, &err), BATCH_LINES_END);
	assert_int_equal(l.number, 1);
	for (int i = 0; i < 2; i++) {
		close(input[i]);
		close(stop[i]);
	}
}

static void
unreadable_file_is_an_error(void **state)
{
	own_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(fd, 100);
	struct remit_error err;

	(void)state;
	assert_int_equal(batch_lines_next(&l, &err), BATCH_LINES_ERROR);
	assert_int_equal(err.sys_errno, EISDIR);
	assert_int_equal(batch_lines_count(fd), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			lines_have_consecutive_numbers_and_end_offsets),
		cmocka_unit_test(empty_file_has_no_lines),
		cmocka_unit_test(lines_longer_than_a_read_are_complete),
		cmocka_unit_test(line_over_the_limit_is_flagged_and_skipped),
		cmocka_unit_test(partial_line_is_dropped_on_stop),
		cmocka_unit_test(unreadable_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
