/* piston_request: which selectors match a version. */
#include "serve/compat/piston_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *selector;
	bool meant; /* for 3.11.2 */
} rows[] = {
	{ "3.11.2", true },
	{ "3.11.3", false },
	{ "3.11.20", false },
	{ "3.11", true },
	{ "3", true },
	{ "2", false },
	{ "v3.11", true },
	{ "*", true },
	{ "x", true },
	{ "3.x", true },
	{ "3.X.x", true },
	{ "2.x", false },
	{ "3.*", true },
	{ "^3.8", true },
	{ "^3.12", false },
	{ "^2.7", false },
	{ "^4", false },
	{ "~3.11", true },
	{ "~3.11.1", true },
	{ "~3.11.3", false },
	{ "~3.10", false },
	{ ">=3.8", true },
	{ ">= 3.8 <4", true },
	{ ">=3.8 <3.11", false },
	{ ">3.11", false },
	{ ">3.11.1", true },
	{ "<=3.11", true },
	{ "<3", false },
	{ "=3.11.2", true },
	{ "2.7 || 3.x", true },
	{ "2.7||^3.10.0", true },
	{ "2.7 || 3.12", false },
	{ "  3  ", true },
	{ "", false },
	{ "   ", false },
	{ "latest", false },
	{ "3.11.2.1", false },
	{ "3..2", false },
	{ "3.", false },
	{ "3 |", false },
	{ "3 || ", false },
	{ "|| 3", false },
	{ ">", false },
	{ ">>3", false },
	{ "3.11.2-rc1", false },
	{ "99999999999999999999", false },
	{ "3.1 - 3.12", false },
};

static void
selector_matches_the_versions_it_should(void **state)
{
	static const int version[3] = { 3, 11, 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (piston_version_matches(rows[i].selector, version) !=
		    rows[i].meant)
			fail_msg("\"%s\"", rows[i].selector);
}

static void
caret_below_version_one_allows_only_lower_parts(void **state)
{
	(void)state;
	assert_true(piston_version_matches("^0.2.1", (int[]){ 0, 2, 5 }));
	assert_false(piston_version_matches("^0.2", (int[]){ 0, 3, 0 }));
	assert_false(piston_version_matches("^0.0.3", (int[]){ 0, 0, 4 }));
	assert_true(piston_version_matches("^0.0.3", (int[]){ 0, 0, 3 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selector_matches_the_versions_it_should),
		cmocka_unit_test(
			caret_below_version_one_allows_only_lower_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
