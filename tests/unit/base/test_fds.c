/* fds: all are closed but those that are named. */
#include "base/file/fds.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void
all_others_are_closed(void **state)
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
		cmocka_unit_test(all_others_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
