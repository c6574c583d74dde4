/* error: the contents of errors. */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The functions under test, before cmocka defines the name as a macro. */
static int (*const plain)(struct remit_error *, enum remit_code, const char *,
			  ...) = fail;

#include <cmocka.h>

static void
a_failure_is_minus_one_with_its_code_and_message(void **state)
{
	struct remit_error err;

	(void)state;
	memset(&err, 'x', sizeof(err));
	assert_int_equal(plain(&err, REMIT_E_BUSY, "%d runs", 7), -1);
	assert_int_equal(err.code, REMIT_E_BUSY);
	assert_string_equal(err.message, "7 runs");
	assert_string_equal(err.where, "");
	assert_string_equal(err.remedy, "");
	assert_int_equal(err.sys_errno, 0);
}

static void
failed_system_call_has_its_errno_in_the_message(void **state)
{
	struct remit_error err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(fail_sys(&err, REMIT_E_KERNEL, "open %s", "/x"), -1);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.message, "open /x: No such file or directory");
}

static void
a_refusal_names_field_reason_and_remedy(void **state)
{
	struct remit_error err;

	(void)state;
	assert_int_equal(fail_refused(&err, "memory_bytes", "Buy %s more.",
				      "only %d left", 3),
			 -1);
	assert_int_equal(err.code, REMIT_E_REFUSED);
	assert_string_equal(err.where, "memory_bytes");
	assert_string_equal(err.remedy, "Buy %s more.");
	assert_string_equal(err.message, "only 3 left");
}

static void
fail_within_prefixes_the_message_and_keeps_the_rest(void **state)
{
	struct remit_error err;

	(void)state;
	fail_refused(&err, "tier", "Wait.", "no such thing");
	assert_int_equal(fail_within(&err, "%s:%d", "policy.json", 7), -1);
	assert_string_equal(err.message, "policy.json:7: no such thing");
	assert_int_equal(err.code, REMIT_E_REFUSED);
	assert_string_equal(err.where, "tier");
	assert_string_equal(err.remedy, "Wait.");
}

static void
long_texts_are_cut_and_terminated(void **state)
{
	struct remit_error err;
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	errno = EPERM;
	fail_sys(&err, REMIT_E_KERNEL, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	fail_refused(&err, text, text, "%s", text);
	assert_int_equal(strlen(err.where), sizeof(err.where) - 1);
	assert_int_equal(strlen(err.remedy), sizeof(err.remedy) - 1);
	fail_within(&err, "%s", text);
	assert_true(strlen(err.message) < sizeof(err.message));
	assert_non_null(strstr(err.message, "a: a"));
}

static void
every_code_has_its_name(void **state)
{
	static const char *const names[] = {
		[REMIT_OK] = "ok",
		[REMIT_E_INPUT] = "input",
		[REMIT_E_REFUSED] = "refused",
		[REMIT_E_BUSY] = "busy",
		[REMIT_E_GONE] = "gone",
		[REMIT_E_KERNEL] = "kernel",
		[REMIT_E_MEMORY] = "memory",
		[REMIT_E_PROTOCOL] = "protocol",
		[REMIT_E_INTERNAL] = "internal",
		/* A private keeper could enforce it, but for the caller this is
		   a refusal. */
		[REMIT_E_ELSEWHERE] = "refused",
		[REMIT_E_INSTALL] = "install_failed",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(remit_code_name((enum remit_code)i),
				    names[i]);
	assert_string_equal(remit_code_name((enum remit_code)ARRAY_LEN(names)),
			    "unknown");
	assert_string_equal(remit_code_name((enum remit_code) - 1), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_failure_is_minus_one_with_its_code_and_message),
		cmocka_unit_test(
			failed_system_call_has_its_errno_in_the_message),
		cmocka_unit_test(a_refusal_names_field_reason_and_remedy),
		cmocka_unit_test(
			fail_within_prefixes_the_message_and_keeps_the_rest),
		cmocka_unit_test(long_texts_are_cut_and_terminated),
		cmocka_unit_test(every_code_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
