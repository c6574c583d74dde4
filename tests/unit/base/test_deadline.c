/* deadline: the error of a missed deadline. */
#include "base/deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
a_missed_deadline_is_busy_with_name_length_and_remedy(void **state)
{
	(void)state;
	for (int d = 0; d < DEADLINE_COUNT; d++) {
		struct remit_error err;

		assert_true(deadline_us((enum deadline)d) >= 1000000);
		assert_int_equal(deadline_missed(&err, (enum deadline)d), -1);
		assert_int_equal(err.code, REMIT_E_BUSY);
		assert_non_null(strstr(err.message, " s (deadline \""));
		assert_string_equal(err.message + strlen(err.message) - 2,
				    "\")");
		assert_true(*err.remedy);
	}
}

static void
a_sentence_names_its_deadline(void **state)
{
	struct remit_error err, again;

	(void)state;
	deadline_missed(&err, DEADLINE_START);
	assert_string_equal(err.message, "the interpreter did not start within "
					 "30 s (deadline \"start\")");
	assert_int_equal(deadline_busy(&again, err.message), -1);
	assert_memory_equal(&again, &err, sizeof(err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_missed_deadline_is_busy_with_name_length_and_remedy),
		cmocka_unit_test(a_sentence_names_its_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
