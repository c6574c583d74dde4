/*
 * self_test: the attempts from inside notice a missing filter and a wrong one.
 * These tests run without namespaces, so attempts that only namespaces stop are
 * left out.
 */
#include "jail/lock/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "jail/seccomp/filter.h"

#define NO_FILTER FILTER_VARIANTS
#define NOTICED	  1
#define NOT_READY 2

static int
self_test_status(unsigned loaded, unsigned meant)
{
	struct lock_params params = {
		.filter = meant,
		.uid = getuid(),
		.skip = LOCK_SKIP_LANDLOCK | LOCK_SKIP_ROOT,
	};
	uint32_t which = 0;

	if (syscall(SYS_close_range, LOCK_CHANNEL_FD + 1, ~0u, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    (loaded != NO_FILTER &&
	     (filter_load(loaded) < 0 || filter_load_closing(0) < 0)))
		return NOT_READY;
	return self_test(&params, &which) < 0 ? NOTICED : 0;
}

static int
run_self_test(unsigned loaded, unsigned meant)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		syscall(SYS_exit_group, self_test_status(loaded, meant));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
self_test_accepts_the_intended_filter(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		assert_int_equal(run_self_test(v, v), 0);
}

static void
self_test_notices_a_missing_filter(void **state)
{
	(void)state;
	for (unsigned v = 0; v < FILTER_INIT; v++)
		assert_int_equal(run_self_test(NO_FILTER, v), NOTICED);
}

static void
self_test_notices_a_weaker_filter(void **state)
{
	(void)state;
	assert_int_equal(run_self_test(FILTER_NETWORK, 0), NOTICED);
	assert_int_equal(run_self_test(FILTER_SUBPROCESS, 0), NOTICED);
	assert_int_equal(run_self_test(FILTER_NETWORK | FILTER_SUBPROCESS,
				       FILTER_SUBPROCESS),
			 NOTICED);
	assert_int_equal(run_self_test(FILTER_NETWORK | FILTER_SUBPROCESS,
				       FILTER_NETWORK),
			 NOTICED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_test_accepts_the_intended_filter),
		cmocka_unit_test(self_test_notices_a_missing_filter),
		cmocka_unit_test(self_test_notices_a_weaker_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
