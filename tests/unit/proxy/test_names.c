/* names: the address of each name inside the jail, and the names that this
   machine knows. */
#include "proxy/dns/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

static struct name *
find_by_address(struct names *all, in_addr_t inside)
{
	struct address a = address_v4(inside);

	return names_find_inside(all, &a);
}

static void
name_and_address_map_to_each_other(void **state)
{
	static struct names all;
	struct name *a = names_get(&all, "a.example");
	struct name *b = names_get(&all, "b.example");

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(names_get(&all, "a.example"), a);
	assert_ptr_equal(find_by_address(&all, names_inside(&all, a)), a);
	assert_ptr_equal(find_by_address(&all, names_inside(&all, b)), b);
	assert_int_equal(ntohl(names_inside(&all, a)) >> 17, 0xc6120000u >> 17);
}

static void
unassigned_address_has_no_name(void **state)
{
	static struct names all;
	struct name *a = names_get(&all, "a.example");
	uint32_t inside = ntohl(names_inside(&all, a));
	struct address six;

	(void)state;
	assert_null(find_by_address(&all, htonl(inside + 1)));
	assert_null(find_by_address(&all, htonl(inside - 1)));
	assert_null(find_by_address(&all, 0));
	assert_null(find_by_address(&all, htonl(0x7f000001)));
	/* An IPv6 address that begins with the same bytes. */
	six = address_v4(names_inside(&all, a));
	six.is_v6 = true;
	assert_null(names_find_inside(&all, &six));
}

static void
names_table_has_a_limit(void **state)
{
	static struct names all;
	char text[32];

	(void)state;
	for (int i = 0; i < NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "n%d.example", i);
		assert_non_null(names_get(&all, text));
	}
	assert_null(names_get(&all, "one.more"));
	assert_non_null(names_get(&all, "n0.example"));
}

/* ---- resolv.conf and hosts of this machine ---- */

static struct host_rules
example_rules(void)
{
	char *texts[] = { "a.example:443", "*.b.example:443", NULL };
	struct list list = { texts, 2 };
	struct host_rules all;
	struct remit_error err;

	assert_int_equal(host_rules_read(&list, &all, &err), 0);
	return all;
}

static void
resolv_conf_yields_at_most_three_resolvers(void **state)
{
	char text[] =
		"# nameserver 9.9.9.9\nsearch a b\nnameserver 127.0.0.53\n"
		"nameserver\t2606:4700::1111 \nnameserver nonsense\n"
		"nameserver\nnameserver 1.1.1.1\nnameserver 8.8.8.8";
	struct site_names s = { 0 };

	(void)state;
	site_names_resolvers(&s, text);
	assert_int_equal(s.resolver_count, 3);
	assert_int_equal(s.resolvers[0].bytes[3], 53);
	assert_true(s.resolvers[1].is_v6);
	assert_int_equal(s.resolvers[2].bytes[0], 1);
}

static void
hosts_file_keeps_only_named_hosts(void **state)
{
	char text[] = "127.0.0.1 localhost\n# 1.1.1.1 a.example\n"
		      "10.0.0.1\tother A.example # b\n\n10.0.0.2 x.b.example "
		      "a.example\n"
		      "nonsense a.example\n10.0.0.3\n";
	struct host_rules all = example_rules();
	struct addresses found = { .count = 0 };
	struct site_names s = { 0 };

	(void)state;
	site_names_hosts(&s, text, &all);
	assert_int_equal(s.host_count, 3);
	site_names_find(&s, "a.example", &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.rows[0].bytes[3], 1);
	assert_int_equal(found.rows[1].bytes[3], 2);
	site_names_find(&s, "localhost", &found);
	assert_int_equal(found.count, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_and_address_map_to_each_other),
		cmocka_unit_test(unassigned_address_has_no_name),
		cmocka_unit_test(names_table_has_a_limit),
		cmocka_unit_test(resolv_conf_yields_at_most_three_resolvers),
		cmocka_unit_test(hosts_file_keeps_only_named_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
