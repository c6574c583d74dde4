/* mechanism and tier: the names that results and policies use. */
#include "base/own.h"
#include "policy/mechanism.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
every_mechanism_is_found_by_its_own_name(void **state)
{
	(void)state;
	/* One bit each in a set. */
	assert_true(MECH_COUNT <= 64);
	for (int i = 0; i < MECH_COUNT; i++) {
		assert_true(strlen(mechanisms[i].sentence) > 0);
		assert_int_equal(mechanism_find(mechanisms[i].name), i);
	}
	assert_int_equal(mechanism_find("hope"), -1);
	assert_int_equal(mechanism_find(""), -1);
}

static void
every_tier_is_found_by_its_own_name(void **state)
{
	(void)state;
	for (int i = 0; i < TIER_COUNT; i++) {
		assert_true(strlen(tiers[i].sentence) > 0);
		assert_int_equal(tier_find(tiers[i].name), i);
	}
	assert_int_equal(tier_find("local_unsafe"), TIER_UNSAFE);
	assert_int_equal(tier_find("Local"), -1);
	assert_int_equal(tier_find(""), -1);
}

/* A tier that runs code without a jail must have a name that says so. */
static void
only_the_unsafe_tier_is_built_without_a_jail(void **state)
{
	(void)state;
	for (int i = 0; i < TIER_COUNT; i++) {
		bool built = i == TIER_STATIC || i == TIER_UNSAFE ||
			     i == TIER_LANDLOCK || i == TIER_LOCAL;

		assert_int_equal(tiers[i].built, built);
		if (built)
			assert_int_equal(tiers[i].jailed, i != TIER_UNSAFE);
		assert_int_equal(tiers[i].bare, i == TIER_LANDLOCK);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mechanism_is_found_by_its_own_name),
		cmocka_unit_test(every_tier_is_found_by_its_own_name),
		cmocka_unit_test(only_the_unsafe_tier_is_built_without_a_jail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
