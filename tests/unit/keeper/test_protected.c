/* protected: names that code in a jail must not create on the host. */
#include "keeper/commit/protected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
dot_names_and_python_startup_files_are_protected(void **state)
{
	static const char *const yes[] = {
		"sitecustomize/__init__.py",
		"usercustomize.so",
		"a/__pycache__/x",
		"x.pyc",
		".bashrc",
		".git/hooks/x",
		"a/.x",
		"a/.x/b",
		"x.pth",
		"A.PTH",
		"a/x.pth/b",
		"sitecustomize.py",
		"SITECUSTOMIZE.PY",
		"a/usercustomize.py",
		"pyvenv.cfg",
		"HEAD",
		"a/HEAD",
	};
	static const char *const no[] = { "a",	   "a.b",    "a/b.c",
					  "pth",   "x.pthy", "sitecustomized",
					  "pyc",   "a..b",   "head",
					  "HEADS", "AHEAD",  "HEAD.txt" };
	const struct list none = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(protected_path(yes[i], &none));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(protected_path(no[i], &none));
}

static void
names_in_the_policy_are_allowed(void **state)
{
	own(list) struct list l = { 0 };

	(void)state;
	assert_int_equal(list_add(&l, ".gitignore"), 0);
	assert_int_equal(list_add(&l, ".github/workflows/*.yml"), 0);
	assert_false(protected_path(".gitignore", &l));
	assert_true(protected_path("a/.gitignore", &l));
	assert_false(protected_path(".github/workflows/ci.yml", &l));
	assert_true(protected_path(".github/x", &l));
	assert_true(protected_path(".github", &l));
	assert_false(protected_directory(".github", &l));
	assert_false(protected_directory(".github/workflows", &l));
	assert_true(protected_directory(".git", &l));
	assert_false(protected_directory("plain", &l));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			dot_names_and_python_startup_files_are_protected),
		cmocka_unit_test(names_in_the_policy_are_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
