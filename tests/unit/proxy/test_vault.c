/* vault: secrets arrive in a memfd and are found by name; anything else is
   refused. */
#include "proxy/credential/vault.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/rules/credential.h"

static int
memfd_of(const void *bytes, size_t len)
{
	int fd = memfd_create("secrets", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, 0), len);
	return fd;
}

static void
secret_is_found_by_its_name(void **state)
{
	static const char bytes[] = "A=one\0AB=two=2\0C=";
	own(secrets) struct secrets s = { 0 };
	own_fd int fd = memfd_of(bytes, sizeof(bytes));
	struct remit_error err;

	(void)state;
	assert_int_equal(secrets_read(&s, fd, &err), 0);
	assert_string_equal(secrets_find(&s, "A"), "one");
	assert_string_equal(secrets_find(&s, "AB"), "two=2");
	assert_string_equal(secrets_find(&s, "C"), "");
	assert_null(secrets_find(&s, "B"));
	assert_null(secrets_find(&s, ""));
	/* Secrets can be read only once. */
	assert_int_equal(secrets_read(&s, fd, &err), -1);
}

static void
malformed_secrets_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "A=one", 5 },	 /* it does not end */
		{ "A", 2 },	 /* no value */
		{ "=one", 5 },	 /* no name */
		{ "A=1\0B", 6 }, /* one of them */
		{ "A=1\0\0", 5 },
	};
	static char much[(CREDENTIALS_MAX + 1) * CREDENTIAL_VALUE];
	struct remit_error err;

	(void)state;
	memset(much, 'x', sizeof(much) - 1);
	much[1] = '=';
	for (size_t i = 0; i <= ARRAY_LEN(rows); i++) {
		bool last = i == ARRAY_LEN(rows);
		own(secrets) struct secrets s = { 0 };
		own_fd int fd = last ? memfd_of(much, sizeof(much))
				     : memfd_of(rows[i].bytes, rows[i].len);

		assert_int_equal(secrets_read(&s, fd, &err), -1);
		assert_null(secrets_find(&s, "A"));
	}
}

static void
secrets_are_read_only_from_a_memfd(void **state)
{
	own(secrets) struct secrets s = { 0 };
	own_fd int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	struct remit_error err;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(secrets_read(&s, -1, &err), -1);
	assert_int_equal(secrets_read(&s, file, &err), -1);
	assert_int_equal(secrets_read(&s, pair[0], &err), -1);
	assert_null(s.text);
	close(pair[0]);
	close(pair[1]);
}

static void
secrets_are_absent_from_a_child(void **state)
{
	own(secrets) struct secrets s = { 0 };
	own_fd int fd = memfd_of("A=one", 6);
	struct remit_error err;
	unsigned char there;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(secrets_read(&s, fd, &err), 0);
	pid = fork();
	if (!pid) /* ENOMEM: nothing is mapped there (mincore(2)) */
		_exit(mincore(s.text, 1, &there) < 0 && errno == ENOMEM ? 7
									: 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	assert_int_equal(mincore(s.text, 1, &there), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secret_is_found_by_its_name),
		cmocka_unit_test(malformed_secrets_are_refused),
		cmocka_unit_test(secrets_are_read_only_from_a_memfd),
		cmocka_unit_test(secrets_are_absent_from_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
