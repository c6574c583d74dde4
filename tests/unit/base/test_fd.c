/* fd: lists of descriptors with holes arrive as they were sent, and all other
   descriptors are closed. */
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void
holes_of_a_descriptor_list_are_preserved(void **state)
{
	int pair[2], pipes[2], got[PASS_MAX], fds[4];
	size_t count;
	char byte = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pipe(pipes), 0);
	const int sent[] = { -1, pipes[0], -1, pipes[1] };

	assert_int_equal(pass_mask(sent, 4), 0xa);
	assert_int_equal(pass_send(pair[0], "x", 1, sent, 4, 0), 1);
	assert_int_equal(pass_recv(pair[1], &byte, 1, got, &count, 0), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(count, 2);
	assert_int_equal(pass_place(got, count, 0xa, fds, 4), 0);
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[2], -1);
	assert_int_equal(write(fds[3], "p", 1), 1);
	assert_int_equal(read(fds[1], &byte, 1), 1);
	assert_int_equal(byte, 'p');
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(pipes[i]);
		close(got[i]);
	}
}

static void
a_mask_that_does_not_fit_is_refused(void **state)
{
	const int got[] = { 5, 6 };
	int fds[4];

	(void)state;
	assert_int_equal(pass_place(got, 2, 0x1, fds, 4), -1);
	assert_int_equal(pass_place(got, 2, 0x7, fds, 4), -1);
	assert_int_equal(pass_place(got, 0, 0, fds, 4), 0);
}

static void
a_message_without_descriptors_brings_none(void **state)
{
	int pair[2], got[PASS_MAX], many[PASS_MAX + 1];
	size_t count = 9;
	char byte;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pass_send(pair[0], "x", 1, NULL, 0, 0), 1);
	assert_int_equal(pass_recv(pair[1], &byte, 1, got, &count, 0), 1);
	assert_int_equal(count, 0);
	for (int i = 0; i <= PASS_MAX; i++)
		many[i] = pair[0];
	assert_int_equal(pass_send(pair[0], "x", 1, many, PASS_MAX + 1, 0), -1);
	assert_int_equal(errno, EINVAL);
	close(pair[0]);
	assert_int_equal(pass_recv(pair[1], &byte, 1, got, &count, 0), 0);
	close(pair[1]);
}

static void
fds_close_others_closes_all_other_descriptors(void **state)
{
	int keep[] = { 40, 2, 30, 1, 0 };
	int status;
	pid_t pid;

	(void)state;
	for (int fd = 10; fd < 50; fd++)
		assert_int_equal(dup2(2, fd), fd);
	pid = fork();
	if (pid == 0) {
		fds_sort(keep, 5);
		fds_close_others(keep, 5);
		for (int fd = 0; fd < 60; fd++) {
			bool kept = fd < 3 || fd == 30 || fd == 40;

			if ((fcntl(fd, F_GETFD) >= 0) != kept)
				_exit(fd + 1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_of_a_descriptor_list_are_preserved),
		cmocka_unit_test(a_mask_that_does_not_fit_is_refused),
		cmocka_unit_test(a_message_without_descriptors_brings_none),
		cmocka_unit_test(fds_close_others_closes_all_other_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
