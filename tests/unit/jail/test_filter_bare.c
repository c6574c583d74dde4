/*
 * Without namespaces, every pid and path is the host's: what the filter refuses
 * then.
 */
#include "base/own.h"
#include "filter_query.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const unsigned bare[] = { FILTER_BARE, FILTER_BARE_NETWORK };

static void
bare_code_can_signal_only_itself(void **state)
{
	static const uint64_t others[] = {
		1, FILTER_RUN_PID, 3, 0xffffffff, UINT64_MAX, BIT(31),
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bare); k++) {
		expect(bare[k], "kill", ALLOW, FILTER_OWN_PID, SIGTERM);
		expect(bare[k], "kill", ALLOW, 0, SIGTERM);
		expect(bare[k], "tgkill", ALLOW, FILTER_OWN_PID, 7, SIGTERM);
		expect(bare[k], "tgkill", REFUSE(EPERM), 0, 7, SIGTERM);
		expect(bare[k], "tkill", REFUSE(EPERM), FILTER_OWN_PID);
		for (size_t i = 0; i < ARRAY_LEN(others); i++) {
			expect(bare[k], "kill", REFUSE(EPERM), others[i]);
			expect(bare[k], "tgkill", REFUSE(EPERM), others[i]);
		}
	}
}

static void
bare_code_cannot_use_calls_that_landlock_does_not_check(void **state)
{
	static const char *const names[] = {
		"chmod",  "fchmod",    "fchmodat",  "fchmodat2", "utime",
		"utimes", "futimesat", "utimensat", "flock",
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bare); k++)
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			expect(bare[k], names[i], REFUSE(EPERM), 0);
}

/* This means calls that take a path: Landlock has already checked what is
   open. */
static void
extended_attributes_are_readable_only_on_open_files(void **state)
{
	static const char *const by_path[] = {
		"getxattr",
		"lgetxattr",
		"listxattr",
		"llistxattr",
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bare); k++) {
		for (size_t i = 0; i < ARRAY_LEN(by_path); i++)
			expect(bare[k], by_path[i], REFUSE(EOPNOTSUPP), 1);
		expect(bare[k], "getxattrat", REFUSE(ENOSYS), 1);
		expect(bare[k], "listxattrat", REFUSE(ENOSYS), 1);
		expect(bare[k], "fgetxattr", ALLOW, 3);
		expect(bare[k], "flistxattr", ALLOW, 3);
	}
	expect(0, "getxattr", ALLOW, 1);
}

static void
limits_of_other_processes_cannot_be_read(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bare); k++) {
		expect(bare[k], "prlimit64", ALLOW, 0, RLIMIT_AS, 0, 1);
		expect(bare[k], "prlimit64", ALLOW, FILTER_OWN_PID, RLIMIT_AS,
		       0, 1);
		expect(bare[k], "prlimit64", REFUSE(EPERM), 1, RLIMIT_AS, 0, 1);
		expect(FILTER_CLOSING_STRICT, "prlimit64", REFUSE(EPERM), 0,
		       RLIMIT_AS, 1, 0);
	}
}

/* A datagram pair could send to any unix socket of the host. */
static void
socketpair_cannot_reach_unix_sockets_of_the_host(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bare); k++) {
		expect(bare[k], "socketpair", ALLOW, AF_UNIX, SOCK_STREAM);
		expect(bare[k], "socketpair", REFUSE(EAFNOSUPPORT), AF_UNIX,
		       SOCK_DGRAM);
		expect(FILTER_CLOSING_STRICT, "sendmsg", REFUSE(EPERM), 3);
	}
	expect(FILTER_BARE, "socket", REFUSE(EPERM), AF_UNIX, SOCK_STREAM);
	expect(FILTER_BARE, "socket", REFUSE(EPERM), AF_INET, SOCK_STREAM);
	expect(FILTER_BARE_NETWORK, "socket", REFUSE(EPERM), AF_UNIX,
	       SOCK_STREAM);
	expect(FILTER_BARE_NETWORK, "socket", ALLOW, AF_INET, SOCK_STREAM);
}

/* Runs in a child, since the filter cannot be removed. */
static void __attribute__((noreturn))
try_for_real(void)
{
	bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		    filter_load(FILTER_BARE) == 0;

	good &= kill(getpid(), 0) == 0 && kill(0, 0) == 0;
	good &= kill(getppid(), 0) < 0 && errno == EPERM;
	good &= kill(FILTER_RUN_PID, 0) < 0 && errno == EPERM;
	good &= kill(FILTER_OWN_PID, 0) < 0 && errno == EPERM;
	_exit(good ? 0 : 1);
}

static void
own_pid_is_inserted_when_the_filter_is_loaded(void **state)
{
	int status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		try_for_real();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bare_code_can_signal_only_itself),
		cmocka_unit_test(
			bare_code_cannot_use_calls_that_landlock_does_not_check),
		cmocka_unit_test(
			extended_attributes_are_readable_only_on_open_files),
		cmocka_unit_test(limits_of_other_processes_cannot_be_read),
		cmocka_unit_test(
			socketpair_cannot_reach_unix_sockets_of_the_host),
		cmocka_unit_test(own_pid_is_inserted_when_the_filter_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
