/* package_rule: requirements, URLs and files of packages. */
#include "policy/rules/package_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
reads(const char *text, const char *name, const char *form)
{
	struct remit_error err;
	struct package_rule r;

	if (package_rule_read(text, &r, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	assert_string_equal(r.name, name);
	assert_string_equal(r.text, form);
}

static void
refuses(const char *text, const char *why)
{
	struct package_rule r;
	struct remit_error err;

	if (package_rule_read(text, &r, &err) == 0)
		fail_msg("%s was taken as %s", text, r.text);
	assert_int_equal(err.code, REMIT_E_REFUSED);
	assert_string_equal(err.where, "packages");
	assert_true(err.remedy[0] != '\0');
	if (!strstr(err.message, why))
		fail_msg("%s: %s", text, err.message);
}

static void
requirement_with_extras_and_versions_is_normalised(void **state)
{
	(void)state;
	reads("pandas", "pandas", "pandas");
	reads(" Pandas ", "pandas", "pandas");
	reads("ruamel.yaml", "ruamel-yaml", "ruamel-yaml");
	reads("A__b.-c", "a-b-c", "a-b-c");
	reads("pandas==2.2.*", "pandas", "pandas==2.2.*");
	reads("pandas >= 2 , < 3", "pandas", "pandas>=2,<3");
	reads("pandas[excel, Plot]~=2.0", "pandas", "pandas[excel,plot]~=2.0");
	reads("x===1.0+local.1", "x", "x===1.0+local.1");
	reads("x!=1!2.0-rc1", "x", "x!=1!2.0-rc1");
	reads("7z", "7z", "7z");
}

static void
malformed_requirement_is_refused(void **state)
{
	static const char *const wrong[] = {
		"a b",	 "a==",	     "a=1",	 "a==1 2",   "a==1,",
		"a,b",	 "a[",	     "a[]",	 "a[b",	     "a[b]c",
		"a[,b]", "a-",	     "_a",	 "a==$(x)",  "a==`x`",
		"a\nb",	 "a==1&",    "a>=1,,<2", "\xc3\xa4", "a==\xc3\xa4",
		"a>1<2", "a == - 1", "a==.1",
	};
	char longer[PACKAGE_NAME_SIZE + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		refuses(wrong[i], "not the name");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	refuses(longer, "not the name");
}

static void
requirement_that_chooses_its_source_is_refused(void **state)
{
	(void)state;
	refuses("", "empty");
	refuses(" \t", "empty");
	refuses("-r", "option");
	refuses("  --index-url=https://x", "option");
	refuses("-e.", "option");
	refuses("https://x/y.whl", "URL");
	refuses("git+ssh://x/y", "URL");
	refuses("a @ file", "URL");
	refuses("a@b", "URL");
	refuses(".", "path");
	refuses("..", "path");
	refuses("./a", "path");
	refuses("/a", "path");
	refuses("a/b", "path");
	refuses("~root", "path");
	refuses("C:\\x", "path");
	refuses("x-1.0-py3-none-any.whl", "path");
	refuses("x-1.0-py3-none-any.whl \t", "path");
	refuses("x==1.tgz ", "path");
	refuses("x.tar.gz", "path");
	refuses("x; python_version<'3'", "marker");
}

static void
url_is(const char *text, const char *entry, const char *named)
{
	struct package_url u;
	struct remit_error err;
	char host[PACKAGE_HOST_SIZE];

	if (package_url_read("package_index", text, &u, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	package_url_host(&u, false, host);
	assert_string_equal(host, entry);
	package_url_host(&u, true, host);
	assert_string_equal(host, named);
}

static void
an_index_is_one_host_and_port(void **state)
{
	(void)state;
	url_is("https://Index.example.com/simple", "index.example.com:443:tls",
	       "index.example.com:443:tls,private");
	url_is("http://index.example.com", "index.example.com:80:plain",
	       "index.example.com:80:plain,private");
	url_is("https://h:8443/x", "h:8443:tls", "h:8443:tls,private");
	url_is("http://127.0.0.1:8080/simple/", "127.0.0.1:8080",
	       "127.0.0.1:8080");
	url_is("https://h?x", "h:443:tls", "h:443:tls,private");
}

static void
url_with_hidden_parts_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"h",
		"ftp://h/",
		"file:///etc",
		"https://",
		"https:///x",
		"https://user:word@h/",
		"https://user@h/",
		"https://h:0/",
		"https://h:99999/",
		"https://h:/",
		"https://h:8x/",
		"https://127.1/",
		"https://[::1]/",
		"https://h/ x",
		"https://h/\n",
		"https://h/\"",
		"https://h\\x/",
		"https://a..b/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct package_url u;
		struct remit_error err;

		if (package_url_read("package_index", wrong[i], &u, &err) == 0)
			fail_msg("%s was taken", wrong[i]);
		assert_string_equal(err.where, "package_index");
	}
}

static void
direct_package_is_a_url_or_an_absolute_path(void **state)
{
	static const char *const right[] = { "https://h/x-1.0.whl",
					     "/a/x-1.0-py3-none-any.whl",
					     "/x.tar.gz" };
	static const char *const wrong[] = { "x.whl",	 "./x.whl",
					     "/a/x",	 "/../x.whl",
					     "-r.whl",	 "ftp://h/x",
					     "/a b.whl", "/a/../x.whl" };
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(right); i++)
		if (package_direct_check(right[i], &err) < 0)
			fail_msg("%s: %s", right[i], err.message);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (package_direct_check(wrong[i], &err) == 0)
			fail_msg("%s was taken", wrong[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			requirement_with_extras_and_versions_is_normalised),
		cmocka_unit_test(malformed_requirement_is_refused),
		cmocka_unit_test(
			requirement_that_chooses_its_source_is_refused),
		cmocka_unit_test(an_index_is_one_host_and_port),
		cmocka_unit_test(url_with_hidden_parts_is_refused),
		cmocka_unit_test(direct_package_is_a_url_or_an_absolute_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
