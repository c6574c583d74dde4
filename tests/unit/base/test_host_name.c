/* host_name: valid host names and their normal form. */
#include "base/net/host_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
host_name_has_one_form(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "api.example.com", "api.example.com" },
		{ "API.Example.COM", "api.example.com" },
		{ "api.example.com.", "api.example.com" },
		{ "localhost", "localhost" },
		{ "xn--mnchen-3ya.example", "xn--mnchen-3ya.example" },
		{ "_dmarc.example.com", "_dmarc.example.com" },
		{ "1.example", "1.example" },
		{ "a0x1", "a0x1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[HOST_NAME_SIZE];

		assert_int_equal(host_name_read(rows[i].text,
						strlen(rows[i].text), name),
				 0);
		assert_string_equal(name, rows[i].name);
	}
}

static void
ambiguous_host_name_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		".",
		"..",
		"a..b",
		".a",
		"a b",
		"a\tb",
		"a\rb",
		"a\nb",
		"a%2e.b",
		"a@b",
		"a/b",
		"a:1",
		"[::1]",
		"-a.example",
		"a-.example",
		"m\xc3\xbcnchen.example",
		"\xd0\xb0pi.example.com",
		"a.example..",
		"127.0.0.1",
		"127.1",
		"2130706433",
		"0x7f000001",
		"0x7f.1",
		"017700000001",
		"example.0x1",
		"example.1",
	};
	char name[HOST_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (host_name_read(rows[i], strlen(rows[i]), name) == 0)
			fail_msg("\"%s\" is taken for a name", rows[i]);
	assert_int_equal(host_name_read("a.example\0.evil", 15, name), -1);
}

static void
host_name_lengths_are_those_of_the_protocol(void **state)
{
	char text[300], name[HOST_NAME_SIZE];

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(host_name_read(text, 63, name), 0);
	assert_int_equal(host_name_read(text, 64, name), -1);
	for (size_t i = 63; i < sizeof(text); i += 64)
		text[i] = '.';
	assert_int_equal(host_name_read(text, 253, name), 0);
	assert_int_equal(host_name_read(text, 254, name), -1);
}

static void
name_with_more_labels_is_below(void **state)
{
	(void)state;
	assert_true(host_name_is_below("a.example.org", "example.org"));
	assert_true(host_name_is_below("a.b.example.org", "example.org"));
	assert_false(host_name_is_below("example.org", "example.org"));
	assert_false(host_name_is_below("badexample.org", "example.org"));
	assert_false(host_name_is_below("a.example.org.evil", "example.org"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_name_has_one_form),
		cmocka_unit_test(ambiguous_host_name_is_refused),
		cmocka_unit_test(host_name_lengths_are_those_of_the_protocol),
		cmocka_unit_test(name_with_more_labels_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
