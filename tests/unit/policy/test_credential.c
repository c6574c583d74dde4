/* credential: entries of the field credentials, and their hosts. */
#include "policy/rules/credential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
credential_entry_is_a_host_a_header_and_a_source(void **state)
{
	static const struct {
		const char *text, *host, *header, *from;
		enum credential_place place;
		uint16_t port;
	} rows[] = {
		{ "API.example.com.:Authorization=env:TOKEN", "api.example.com",
		  "Authorization", "TOKEN", CREDENTIAL_IN_VARIABLE },
		{ "127.0.0.1:X-Key=file:/run/a=b:c", "127.0.0.1", "X-Key",
		  "/run/a=b:c", CREDENTIAL_IN_FILE },
		{ "[2001:DB8::1]:X-Key=env:_K1", "2001:db8::1", "X-Key", "_K1",
		  CREDENTIAL_IN_VARIABLE },
		{ "h.example:X-Key=given:RULE_1", "h.example", "X-Key",
		  "RULE_1", CREDENTIAL_GIVEN },
		{ "h.example:8443:X-Key=env:A", "h.example", "X-Key", "A",
		  CREDENTIAL_IN_VARIABLE, 8443 },
		{ "[::1]:80:X-Key=env:A", "::1", "X-Key", "A",
		  CREDENTIAL_IN_VARIABLE, 80 },
		/* A header may consist of digits. */
		{ "h.example:443=env:A", "h.example", "443", "A",
		  CREDENTIAL_IN_VARIABLE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct remit_error err;
		struct credential c;

		if (credential_read(rows[i].text, &c, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.message);
		assert_string_equal(c.host, rows[i].host);
		assert_string_equal(c.header, rows[i].header);
		assert_string_equal(c.from, rows[i].from);
		assert_int_equal(c.place, rows[i].place);
		assert_int_equal(c.port, rows[i].port);
	}
}

static void
credential_that_is_malformed_is_refused_with_a_remedy(void **state)
{
	static const char *const rows[] = {
		"",
		"h",
		"h:X",
		"h:X=",
		"h:X=value",
		"h:X=env:",
		"h:X=env:A B",
		"h:X=env:A=B",
		"h:X=file:",
		"h:X=file:relative",
		"h:X=given:",
		"h:X=given:A B",
		"h:=env:A",
		":X=env:A",
		"*.h.example:X=env:A",
		"127.1:X=env:A",
		"[127.0.0.1]:X=env:A",
		"[::1]X=env:A",
		"h:0:X=env:A",
		"h:65536:X=env:A",
		"h:99999999999999999999:X=env:A",
		"h:-1:X=env:A",
		"h::X=env:A",
		"h:80:80:X=env:A",
		"h:X Y=env:A",
		"h:X\r\nY=env:A",
		"h:Host=env:A",
		"h:content-LENGTH=env:A",
		"h:Transfer-Encoding=env:A",
		"h:Connection=env:A",
		"h:Upgrade=env:A",
		"h:Proxy-Authorization=env:A",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct remit_error err = { 0 };
		struct credential c;

		if (credential_read(rows[i], &c, &err) == 0)
			fail_msg("\"%s\" is taken", rows[i]);
		assert_int_equal(err.code, REMIT_E_REFUSED);
		assert_string_equal(err.where, "credentials");
		assert_true(err.message[0] && err.remedy[0]);
	}
}

static void
host_and_port_have_one_credential(void **state)
{
	static char *two[][2] = {
		{ "h:80:X=env:A", "h:X=env:B" },
		{ "h:X=env:A", "h:443:X=env:B" },
		{ "h:80:X=env:A", "h:80:Y=env:B" },
	};
	char *ports[] = { "h:80:X=env:A", "h:443:X=env:A" };
	const struct list apart = { ports, 2 };
	char *texts[] = { "h:X=env:A", "H.:Y=env:B" };
	struct list list = { texts, 2 };
	static struct credentials all;
	struct remit_error err;

	(void)state;
	assert_int_equal(credentials_read(&list, &all, &err), -1);
	for (size_t i = 0; i < ARRAY_LEN(two); i++) {
		const struct list same = { two[i], 2 };

		assert_int_equal(credentials_read(&same, &all, &err), -1);
	}
	assert_int_equal(credentials_read(&apart, &all, &err), 0);
	assert_int_equal(all.count, 2);
	list.count = 1;
	assert_int_equal(credentials_read(&list, &all, &err), 0);
	assert_int_equal(all.count, 1);
}

static bool
is_for(const char *credential, const char *entry)
{
	struct remit_error err;
	struct credential c;
	struct host_rule r;

	assert_int_equal(credential_read(credential, &c, &err), 0);
	assert_int_equal(host_rule_read(entry, &r, &err), 0);
	return credential_is_for(&c, &r);
}

static void
credential_is_for_its_host_alone(void **state)
{
	(void)state;
	assert_true(is_for("a.example:X=env:A", "A.example:80"));
	assert_true(is_for("10.0.0.1:X=env:A", "10.0.0.1:80:plain"));
	assert_true(is_for("[::1]:X=env:A", "[0:0::1]:80:plain"));
	assert_false(is_for("a.example:X=env:A", "b.a.example:80"));
	assert_false(is_for("a.example:X=env:A", "*.a.example:80"));
	assert_false(is_for("b.a.example:X=env:A", "*.a.example:80"));
	assert_false(is_for("10.0.0.1:X=env:A", "10.0.0.2:80:plain"));
	assert_true(is_for("a.example:80:X=env:A", "a.example:80"));
	assert_false(is_for("a.example:80:X=env:A", "a.example:443"));
	assert_false(is_for("10.0.0.1:80:X=env:A", "10.0.0.1:81:plain"));
}

static void
credential_value_is_one_line_of_visible_bytes(void **state)
{
	char longest[CREDENTIAL_VALUE];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	assert_true(credential_is_value("Bearer a", 8));
	assert_true(credential_is_value(longest, sizeof(longest) - 1));
	assert_false(credential_is_value(longest, sizeof(longest)));
	assert_false(credential_is_value("", 0));
	assert_false(credential_is_value("a\r\nX: y", 7));
	assert_false(credential_is_value("a\nb", 3));
	assert_false(credential_is_value("a\0b", 3));
	assert_false(credential_is_value("a\tb", 3));
	assert_false(credential_is_value(" a", 2));
	assert_false(credential_is_value("a ", 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			credential_entry_is_a_host_a_header_and_a_source),
		cmocka_unit_test(
			credential_that_is_malformed_is_refused_with_a_remedy),
		cmocka_unit_test(host_and_port_have_one_credential),
		cmocka_unit_test(credential_is_for_its_host_alone),
		cmocka_unit_test(credential_value_is_one_line_of_visible_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
