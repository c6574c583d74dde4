/* plain: names from inside that may be made outside. */
#include "base/file/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"

#include <cmocka.h>

static void
ordinary_names_are_plain(void **state)
{
	static const char *const good[] = {
		"a",
		"a b.csv",
		"100%.txt",
		"caf\xc3\xa9",
		"\xe6\x97\xa5.png",
		".hidden",
		"...",
		"a-b",
		"CON",
		"a\\b",
		"a:b",
		"$(x)",
		"a/b/c.txt",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!plain_path(good[i]))
			fail_msg("%s", good[i]);
}

static void
these_are_not(void **state)
{
	static const char *const bad[] = {
		"",	 ".",	     "..",	     "/a",	 "a/",
		"a//b",	 "a/../b",   "a/./b",	     "../a",	 "-rf",
		"a/-rf", "a\nb",     "a\x1b[2J",     "a\x7f",	 "a\xff",
		"a\xc3", "\xc2\x9b", "\xed\xa0\x80", "\xc0\xaf", "\t",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (plain_path(bad[i]))
			fail_msg("%zu", i);
	assert_false(plain_name("a/b"));
}

static void
length_has_a_bound(void **state)
{
	char name[PLAIN_PATH_SIZE + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	assert_true(plain_name(name));
	name[255] = 'a';
	name[256] = '\0';
	assert_false(plain_name(name));
	memset(name, 'a', sizeof(name));
	for (size_t i = 100; i < sizeof(name); i += 100)
		name[i] = '/';
	name[PLAIN_PATH_SIZE - 1] = '\0';
	assert_true(plain_path(name));
	name[PLAIN_PATH_SIZE - 1] = 'a';
	name[PLAIN_PATH_SIZE] = '\0';
	assert_false(plain_path(name));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_names_are_plain),
		cmocka_unit_test(these_are_not),
		cmocka_unit_test(length_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
