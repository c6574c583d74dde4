/* glob: which paths a pattern matches. */
#include "base/file/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/own.h"

#include <cmocka.h>

static const struct row {
	const char *pattern, *path;
	bool matches;
} rows[] = {
	{ "a.csv", "a.csv", true },
	{ "a.csv", "b.csv", false },
	{ "a.csv", "a.csv2", false },
	{ "a.csv", "out/a.csv", false },
	{ "*.csv", "a.csv", true },
	{ "*.csv", ".csv", false },
	{ "*.csv", "a.csv.txt", false },
	{ "*.csv", "out/a.csv", false },
	{ "*", "a", true },
	{ "*", "a/b", false },
	{ "*a*b*", "xxaxxbxx", true },
	{ "*a*b*", "xxbxxaxx", false },
	{ "*ab", "aab", true },
	{ "a**b", "a/b", false },
	{ "a**b", "axxb", true },
	{ "?.txt", "a.txt", true },
	{ "?.txt", "ab.txt", false },
	{ "?.txt", "\xc3\xa9.txt", true },
	{ "?", ".", false },
	{ "[ab]", "a", false },
	{ "[ab]", "[ab]", true },
	{ "\\*", "*", false },
	/* several names */
	{ "out/*.csv", "out/a.csv", true },
	{ "out/*.csv", "out/b/a.csv", false },
	{ "*/*.csv", "out/a.csv", true },
	{ "out/**", "out/a", true },
	{ "out/**", "out/a/b/c", true },
	{ "out/**", "out", false },
	{ "out/**", "outer/a", false },
	{ "**", "a", true },
	{ "**", "a/b/c", true },
	{ "**/*.png", "a.png", true },
	{ "**/*.png", "a/b/c.png", true },
	{ "**/*.png", "a/b.png/c", false },
	{ "a/**/z", "a/z", true },
	{ "a/**/z", "a/b/c/z", true },
	{ "a/**/z", "a/b/c/y", false },
	{ "a/**/b/**/c", "a/b/x/b/y/c", true },
	{ "a/**/b/**/c", "a/x/y/c", false },
	{ "**/a*", "a1/a2", true },
	{ "**/**", "a", true },
	/* a directory by its name is all that is in it */
	{ "out", "out/a", true },
	{ "out", "out/a/b", true },
	{ "out", "outer", false },
	{ "**/out", "a/out/b", true },
	{ "o*", "out/a", false },
	/* a dot at the beginning must be written */
	{ "*", ".profile", false },
	{ ".*", ".profile", true },
	{ ".profile", ".profile", true },
	{ "**", ".git/config", false },
	{ "**", "a/.git/config", false },
	{ "**/config", ".git/config", false },
	{ ".git/**", ".git/config", true },
	{ "out", "out/.hidden", false },
	{ "out/.h*", "out/.hidden", true },
};

static void
glob_matches_these_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (glob_matches(rows[i].pattern, rows[i].path) !=
		    rows[i].matches)
			fail_msg("%s and %s", rows[i].pattern, rows[i].path);
}

/* Every match must be found, so its parent directories must not be skipped. */
static void
every_directory_above_a_match_is_entered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char directory[64];

		snprintf(directory, sizeof(directory), "%s", rows[i].path);
		for (char *slash;
		     rows[i].matches && (slash = strrchr(directory, '/'));) {
			*slash = '\0';
			if (!glob_leads_into(rows[i].pattern, directory))
				fail_msg("%s and %s", rows[i].pattern,
					 directory);
		}
	}
}

static void
glob_skips_other_directories(void **state)
{
	static const struct {
		const char *pattern, *directory;
	} others[] = {
		{ "*.csv", "out" },	  { "*", "out" },
		{ "out/*.csv", "other" }, { "out/*.csv", "out/deep" },
		{ "out/**", "other" },	  { "**", ".git" },
		{ "out/**", "out/.git" }, { "a/b/c", "a/c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (glob_leads_into(others[i].pattern, others[i].directory))
			fail_msg("%s and %s", others[i].pattern,
				 others[i].directory);
}

/* Patterns that take exponential time in naive implementations. */
static void
glob_is_never_slow(void **state)
{
	char pattern[256], name[256], deep[4096];
	time_t before = time(NULL);

	(void)state;
	memset(name, 'a', 255);
	name[255] = '\0';
	for (size_t i = 0; i < 252; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 252, "*b", 3);
	for (int i = 0; i < 2000; i++)
		assert_false(glob_matches(pattern, name));
	for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
		memcpy(deep + i, "a/", 3);
	for (int i = 0; i < 200; i++)
		assert_false(glob_matches("**/a/**/a/**/a/**/a/**/b", deep));
	assert_true(time(NULL) - before < 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glob_matches_these_paths),
		cmocka_unit_test(every_directory_above_a_match_is_entered),
		cmocka_unit_test(glob_skips_other_directories),
		cmocka_unit_test(glob_is_never_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
