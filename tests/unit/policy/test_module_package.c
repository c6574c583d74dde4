/* module_package: the packages of modules. */
#include "policy/rules/module_package.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "policy/rules/package_rule.h"

#include <cmocka.h>

static void
provides(const char *package, const char *module)
{
	const char *found = module_package_find(module);
	struct package_rule r;
	struct remit_error err;

	if (!found)
		fail_msg("%s has no package", module);
	assert_string_equal(found, package);
	if (package_rule_read(found, &r, &err) < 0)
		fail_msg("%s: %s", module, err.message);
}

static void
package_has_the_name_of_its_module_unless_the_table_differs(void **state)
{
	(void)state;
	provides("polars", "polars");
	provides("sentence_transformers", "sentence_transformers");
	provides("lxml", "lxml");
	provides("opencv-python-headless", "cv2");
	provides("Pillow", "PIL");
	provides("scikit-learn", "sklearn");
	provides("PyYAML", "yaml");
	provides("beautifulsoup4", "bs4");
	provides("ruamel.yaml", "ruamel");
	/* Unlike packages, modules are case-sensitive. */
	provides("pil", "pil");
}

static void
package_is_not_invented_for_modules_that_no_index_has(void **state)
{
	static const char *const none[] = { "tkinter", "distutils",
					    "urllib2", "win32api",
					    "google",  "imp",
					    "gi",      "pkg_resources" };

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		if (module_package_find(none[i]))
			fail_msg("%s has a package", none[i]);
}

/* The name comes from the jail, is shown on a terminal, and may be pasted into
   a shell. */
static void
package_of_a_hostile_name_is_none(void **state)
{
	static const char *const hostile[] = {
		"",	   "_cffi",	  "a b",  "a.b",   "a-b",   "a\n",
		"\033[2J", "caf\xc3\xa9", "a;id", "-r",	   "a$x",   "a'",
		"9lives",  "a_",	  "\"",	  "$(id)", "a\x7f", "../a",
	};
	char name[MODULE_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
		if (module_package_find(hostile[i]))
			fail_msg("row %zu", i);
	memset(name, 'a', sizeof(name));
	name[MODULE_NAME_MAX + 1] = '\0';
	assert_null(module_package_find(name));
	name[MODULE_NAME_MAX] = '\0';
	assert_ptr_equal(module_package_find(name), name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			package_has_the_name_of_its_module_unless_the_table_differs),
		cmocka_unit_test(
			package_is_not_invented_for_modules_that_no_index_has),
		cmocka_unit_test(package_of_a_hostile_name_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
