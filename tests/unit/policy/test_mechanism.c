/* mechanism: the names that results use. */
#include "policy/mechanism.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
every_mechanism_is_found_by_its_own_name(void **state)
{
	(void)state;
	/* Each is one bit of a set. */
	assert_true(MECH_COUNT <= 64);
	for (int i = 0; i < MECH_COUNT; i++) {
		assert_true(strlen(mechanisms[i].sentence) > 0);
		assert_int_equal(mechanism_find(mechanisms[i].name), i);
	}
	assert_int_equal(mechanism_find("hope"), -1);
	assert_int_equal(mechanism_find(""), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mechanism_is_found_by_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
