/* join: only a process with a single thread may fork a jail's code. */
#include "jail/lock/join.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int gate[2];

static void *
wait_at_gate(void *arg)
{
	char byte;

	(void)arg;
	(void)!read(gate[0], &byte, 1);
	return NULL;
}

/* The kernel counts a thread for a moment after pthread_join() has returned. */
static bool
becomes_single_threaded(void)
{
	for (int i = 0; i < 30000; i++) {
		if (join_is_single_threaded())
			return true;
		usleep(1000); /* try again a little later */
	}
	return false;
}

static void
thread_start_and_end_are_noticed(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(join_is_single_threaded());
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, NULL), 0);
	assert_false(join_is_single_threaded());
	assert_false(join_is_single_threaded());
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(becomes_single_threaded());
	close(gate[0]);
	close(gate[1]);
}

/* After a fork with threads, a lock that one of them had would stay locked. */
static void
join_fork_with_threads_reports_the_failed_step(void **state)
{
	struct join_command cmd = { 0 };
	struct step_report failed = { 0 };
	int fds[JOIN_FDS];
	pthread_t thread;
	pid_t pid;

	(void)state;
	for (int i = 0; i < JOIN_FDS; i++)
		fds[i] = -1;
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, NULL), 0);
	pid = join_fork(&cmd, fds, &failed);
	assert_int_equal(pid, -1);
	assert_int_equal(failed.step, STEP_ONE_THREAD);
	assert_int_equal(failed.sys_errno, EINVAL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(becomes_single_threaded());
	close(gate[0]);
	close(gate[1]);
}

/* The descriptor is not a namespace: the helper reports that, and ends. */
static void
join_fork_of_a_bad_namespace_leaves_no_child(void **state)
{
	struct join_command cmd = { 0 };
	struct step_report failed = { 0 };
	int fds[JOIN_FDS];

	(void)state;
	for (int i = 0; i < JOIN_FDS; i++)
		fds[i] = -1;
	assert_int_equal(join_fork(&cmd, fds, &failed), -1);
	assert_int_equal(failed.step, STEP_JOIN);
	assert_int_equal(failed.detail, 1);
	assert_int_equal(failed.sys_errno, EBADF);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_start_and_end_are_noticed),
		cmocka_unit_test(
			join_fork_with_threads_reports_the_failed_step),
		cmocka_unit_test(join_fork_of_a_bad_namespace_leaves_no_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
