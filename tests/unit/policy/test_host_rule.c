/* host_rule: entries of network_allow. */
#include "policy/rules/host_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

static void
reads(const char *text, const char *name, uint16_t port, enum host_kind kind,
      bool may_be_private)
{
	struct remit_error err;
	struct host_rule r;

	if (host_rule_read(text, &r, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	assert_string_equal(r.name, name);
	assert_int_equal(r.port, port);
	assert_int_equal(r.kind, kind);
	assert_int_equal(r.may_be_private, may_be_private);
}

static void
an_entry_is_a_host_a_port_and_words(void **state)
{
	(void)state;
	reads("api.example.com:443", "api.example.com", 443, HOST_TLS, false);
	reads("API.example.com.:80", "api.example.com", 80, HOST_PLAIN, false);
	reads("h:5432", "h", 5432, HOST_TCP, false);
	reads("h:5432:private", "h", 5432, HOST_TCP, true);
	reads("h:8443:tls,private", "h", 8443, HOST_TLS, true);
	reads("h:443:tcp", "h", 443, HOST_TCP, false);
	reads("h:8080:plain", "h", 8080, HOST_PLAIN, false);
	reads("*.example.org:443", "example.org", 443, HOST_TLS, false);
	reads("10.1.2.3:443", "", 443, HOST_TCP, false);
	reads("127.0.0.1:5432", "", 5432, HOST_TCP, false);
	reads("169.254.169.254:80:tcp", "", 80, HOST_TCP, false);
	reads("127.0.0.1:8080:plain", "", 8080, HOST_PLAIN, false);
	reads("[2001:db8::1]:443", "", 443, HOST_TCP, false);
	reads("[::1]:80:plain", "", 80, HOST_PLAIN, false);
}

static void
caps_and_methods_are_words_too(void **state)
{
	struct remit_error err;
	struct host_rule r;

	(void)state;
	assert_int_equal(
		host_rule_read("h:8080:plain,methods=GET+POST,bytes=10M,"
			       "connections=5,private",
			       &r, &err),
		0);
	assert_int_equal(r.methods,
			 host_method("GET", 3) | host_method("POST", 4));
	assert_int_equal(r.most_bytes, 10 << 20);
	assert_int_equal(r.most_connections, 5);
	assert_true(r.may_be_private);
	assert_int_equal(host_rule_read("h:80", &r, &err), 0);
	assert_true(!r.methods && !r.most_bytes && !r.most_connections);
	assert_int_equal(host_method("get", 3), 0);
	assert_int_equal(host_method("GETS", 4), 0);
	assert_int_equal(host_method("", 0), 0);
}

static void
an_ipv6_address_is_found_in_any_of_its_forms(void **state)
{
	char *texts[] = { "[2001:db8::1]:443", "10.1.2.3:443" };
	struct list list = { texts, 2 };
	struct host_rules all;
	struct remit_error err;
	struct address a;

	(void)state;
	assert_int_equal(host_rules_read(&list, &all, &err), 0);
	assert_int_equal(address_read("2001:DB8:0:0::0:1", &a), 0);
	assert_ptr_equal(host_rules_address_port(&all, &a, 443), &all.rows[0]);
	assert_null(host_rules_address_port(&all, &a, 80));
	/* The IPv6 address begins with the same bytes. */
	assert_int_equal(address_read("a01:203::", &a), 0);
	assert_null(host_rules_address_port(&all, &a, 443));
}

static void
host_entry_that_is_malformed_is_refused_with_a_remedy(void **state)
{
	static const char *const rows[] = {
		"",
		"h",
		"h:",
		":443",
		"h:0",
		"h:65536",
		"h:-1",
		"h:4x3",
		"h:443:",
		"h:443:ssl",
		"h:443:tls,",
		"*:443",
		"*.com:443",
		"*.:443",
		"a.*.example.org:443",
		"a*.example.org:443",
		"h/:443",
		"http://h:443",
		"user@h:443",
		"127.1:80",
		"2130706433:80",
		"0x7f000001:80",
		"0177.0.0.1:80",
		"0.0.0.0:80",
		"255.255.255.255:80",
		"224.0.0.1:80",
		"198.18.1.0:80",
		"198.19.255.255:80",
		"::1:80",
		"[::1:80",
		"[::1]80",
		"[::1]",
		"[]:80",
		"[10.0.0.1]:80",
		"[h]:80",
		"[::]:80",
		"[::ffff:10.0.0.1]:80",
		"[fe80::1]:80",
		"[fe80::1%eth0]:80",
		"[ff02::1]:80",
		"[::1]:443:tls",
		"h:80:plain,tcp",
		"h:80:private,private",
		"h:5432:methods=GET",
		"h:80:methods=",
		"h:80:methods",
		"h:80:methods=get",
		"h:80:methods=GET+",
		"h:80:methods=GET+GET",
		"h:80:methods=CONNECT",
		"h:80:bytes=0",
		"h:80:bytes=",
		"h:80:bytes=-1",
		"h:80:bytes=1,bytes=2",
		"h:80:connections=1M",
		"h:80:connections=0",
		"h:80:plain=1",
		"10.0.0.1:80:private",
		"10.0.0.1:80:public",
		"127.0.0.1:80:plain,public",
		"[::1]:80:public",
		"h:80:private,public",
		"93.184.216.34:80:public,private",
		"10.0.0.1:443:tls",
		"m\xc3\xbcnchen.example:443",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct remit_error err = { 0 };
		struct host_rule r;

		if (host_rule_read(rows[i], &r, &err) == 0)
			fail_msg("\"%s\" is taken", rows[i]);
		assert_int_equal(err.code, REMIT_E_REFUSED);
		assert_string_equal(err.where, "network_allow");
		assert_true(err.message[0] && err.remedy[0]);
	}
}

static void
a_name_is_found_at_its_port_and_below_a_star(void **state)
{
	char *texts[] = { "a.example:443", "*.b.example:443", "10.1.2.3:5432",
			  NULL };
	struct list list = { texts, 3 };
	struct host_rules all;
	struct remit_error err;
	struct address a;

	(void)state;
	assert_int_equal(host_rules_read(&list, &all, &err), 0);
	assert_ptr_equal(host_rules_name(&all, "a.example"), &all.rows[0]);
	assert_ptr_equal(host_rules_name_port(&all, "a.example", 443),
			 &all.rows[0]);
	assert_null(host_rules_name_port(&all, "a.example", 80));
	assert_ptr_equal(host_rules_name(&all, "x.y.b.example"), &all.rows[1]);
	assert_null(host_rules_name(&all, "b.example"));
	assert_null(host_rules_name(&all, "bb.example"));
	assert_null(host_rules_name(&all, ""));
	a = address_v4(htonl(0x0a010203));
	assert_ptr_equal(host_rules_address_port(&all, &a, 5432), &all.rows[2]);
	assert_null(host_rules_address_port(&all, &a, 443));
	a = address_v4(0);
	assert_null(host_rules_address_port(&all, &a, 443));
}

static void
host_entries_beyond_the_limit_are_refused(void **state)
{
	static char names[HOST_RULES_MAX + 1][32];
	char *texts[HOST_RULES_MAX + 1];
	struct list list = { texts, HOST_RULES_MAX + 1 };
	struct host_rules all;
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(names[i], sizeof(names[i]), "n%zu.example:443", i);
		texts[i] = names[i];
	}
	assert_int_equal(host_rules_read(&list, &all, &err), -1);
	list.count--;
	assert_int_equal(host_rules_read(&list, &all, &err), 0);
	assert_int_equal(all.count, HOST_RULES_MAX);
}

static void
a_host_and_port_named_twice_are_refused(void **state)
{
	static char *rows[][2] = {
		{ "a.example:443", "A.example.:443:tcp" },
		{ "*.a.example:80", "*.a.example:80:tcp" },
		{ "10.1.2.3:5432", "10.1.2.3:5432" },
		{ "[2001:db8::1]:80", "[2001:0db8::0:1]:80:plain" },
	};
	struct host_rules all;
	struct remit_error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct list list = { rows[i], 2 };

		assert_int_equal(host_rules_read(&list, &all, &err), -1);
		assert_non_null(strstr(err.message, "twice"));
	}
}

static void
the_most_exact_entry_decides(void **state)
{
	char *texts[] = { "*.x.example:80:tcp", "*.b.x.example:80",
			  "a.x.example:80", "a.b.x.example:80:tcp" };
	struct list list = { texts, ARRAY_LEN(texts) };
	struct host_rules all;
	struct remit_error err;

	(void)state;
	assert_int_equal(host_rules_read(&list, &all, &err), 0);
	assert_int_equal(host_rules_name_port(&all, "a.x.example", 80)->kind,
			 HOST_PLAIN);
	assert_int_equal(host_rules_name_port(&all, "y.x.example", 80)->kind,
			 HOST_TCP);
	assert_int_equal(host_rules_name_port(&all, "y.b.x.example", 80)->kind,
			 HOST_PLAIN);
	assert_int_equal(host_rules_name_port(&all, "a.b.x.example", 80)->kind,
			 HOST_TCP);
}

static void
entries_of_clients_are_kept_to_public_hosts(void **state)
{
	/* The entry, and the result; NULL if it is refused. */
	static const char *const rows[][2] = {
		{ "a.example:443", "a.example:443" },
		{ "a.example:5432:tcp", "a.example:5432:tcp" },
		{ "a.example:80:private", NULL },
		{ "*.a.example:80:plain,private", NULL },
		{ "93.184.216.34:80", "93.184.216.34:80:public" },
		{ "93.184.216.34:80:plain", "93.184.216.34:80:plain,public" },
		{ "93.184.216.34:80:public", "93.184.216.34:80:public" },
		{ "[2606:4700::34]:80", "[2606:4700::34]:80:public" },
		{ "[2606:4700::34]:80:bytes=1M",
		  "[2606:4700::34]:80:bytes=1M,public" },
		{ "10.0.0.1:80", NULL },
		{ "127.0.0.1:80", NULL },
		{ "[::1]:80", NULL },
		{ "169.254.169.254:80", NULL },
		/* Granted word for word. */
		{ "10.9.9.9:80", "10.9.9.9:80" },
		{ "10.9.9.9:80:plain", NULL },
		{ "in.example:80:private", "in.example:80:private" },
		/* Malformed entries are left to the plan. */
		{ "10.0.0.1", "10.0.0.1" },
	};
	char *names[] = { "10.9.9.9:80", "in.example:80:private" };
	const struct list granted = { names, ARRAY_LEN(names) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct remit_error err = { 0 };
		own(list) struct list l = { 0 };
		int kept;

		assert_int_equal(list_add(&l, rows[i][0]), 0);
		kept = host_rules_keep_public(&l, &granted, &err);
		if ((kept == 0) != (rows[i][1] != NULL))
			fail_msg("%s: %d", rows[i][0], kept);
		if (kept == 0)
			assert_string_equal(l.items[0], rows[i][1]);
		else
			assert_string_equal(err.where, "network_allow");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_a_host_a_port_and_words),
		cmocka_unit_test(caps_and_methods_are_words_too),
		cmocka_unit_test(an_ipv6_address_is_found_in_any_of_its_forms),
		cmocka_unit_test(a_host_and_port_named_twice_are_refused),
		cmocka_unit_test(the_most_exact_entry_decides),
		cmocka_unit_test(entries_of_clients_are_kept_to_public_hosts),
		cmocka_unit_test(
			host_entry_that_is_malformed_is_refused_with_a_remedy),
		cmocka_unit_test(a_name_is_found_at_its_port_and_below_a_star),
		cmocka_unit_test(host_entries_beyond_the_limit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
