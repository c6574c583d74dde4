/* address: the classes of addresses. */
#include "base/net/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/own.h"

#include <cmocka.h>

static struct address
of(const char *text)
{
	struct address a = { .is_v6 = strchr(text, ':') != NULL };

	assert_int_equal(inet_pton(a.is_v6 ? AF_INET6 : AF_INET, text, a.bytes),
			 1);
	return a;
}

static void
every_special_range_has_its_class_up_to_its_ends(void **state)
{
	static const struct {
		const char *text;
		enum address_class class;
	} rows[] = {
		{ "0.0.0.0", ADDRESS_NEVER },
		{ "0.255.255.255", ADDRESS_NEVER },
		{ "1.1.1.1", ADDRESS_PUBLIC },
		{ "9.255.255.255", ADDRESS_PUBLIC },
		{ "10.0.0.0", ADDRESS_PRIVATE },
		{ "10.255.255.255", ADDRESS_PRIVATE },
		{ "11.0.0.0", ADDRESS_PUBLIC },
		{ "100.63.255.255", ADDRESS_PUBLIC },
		{ "100.64.0.0", ADDRESS_PRIVATE },
		{ "100.127.255.255", ADDRESS_PRIVATE },
		{ "100.100.100.200", ADDRESS_NEVER },
		{ "100.128.0.0", ADDRESS_PUBLIC },
		{ "168.63.129.15", ADDRESS_PUBLIC },
		{ "168.63.129.16", ADDRESS_NEVER },
		{ "127.0.0.1", ADDRESS_NEVER },
		{ "127.255.255.255", ADDRESS_NEVER },
		{ "169.254.169.254", ADDRESS_NEVER },
		{ "169.253.0.1", ADDRESS_PUBLIC },
		{ "172.15.255.255", ADDRESS_PUBLIC },
		{ "172.16.0.0", ADDRESS_PRIVATE },
		{ "172.31.255.255", ADDRESS_PRIVATE },
		{ "172.32.0.0", ADDRESS_PUBLIC },
		{ "192.0.0.192", ADDRESS_NEVER },
		{ "192.0.2.1", ADDRESS_NEVER },
		{ "192.88.99.1", ADDRESS_NEVER },
		{ "192.168.0.1", ADDRESS_PRIVATE },
		{ "192.169.0.0", ADDRESS_PUBLIC },
		{ "198.18.1.0", ADDRESS_NEVER },
		{ "198.19.255.255", ADDRESS_NEVER },
		{ "198.20.0.0", ADDRESS_PUBLIC },
		{ "198.51.100.7", ADDRESS_NEVER },
		{ "203.0.113.7", ADDRESS_NEVER },
		{ "223.255.255.255", ADDRESS_PUBLIC },
		{ "224.0.0.1", ADDRESS_NEVER },
		{ "255.255.255.255", ADDRESS_NEVER },
		{ "::", ADDRESS_NEVER },
		{ "::1", ADDRESS_NEVER },
		{ "::ffff:127.0.0.1", ADDRESS_NEVER },
		{ "::ffff:1.1.1.1", ADDRESS_NEVER },
		{ "64:ff9b::a00:1", ADDRESS_NEVER },
		{ "2001:0:1::1", ADDRESS_NEVER },
		{ "2001:1ff:ffff::1", ADDRESS_NEVER },
		{ "2001:200::1", ADDRESS_PUBLIC },
		{ "2001:db8::1", ADDRESS_NEVER },
		{ "2002:7f00:1::1", ADDRESS_NEVER },
		{ "2606:4700::1111", ADDRESS_PUBLIC },
		{ "3fff::1", ADDRESS_NEVER },
		{ "4000::1", ADDRESS_NEVER },
		{ "fc00::1", ADDRESS_PRIVATE },
		{ "fd00:ec2::253", ADDRESS_PRIVATE },
		{ "fd00:ec2::254", ADDRESS_NEVER },
		{ "fd20:ce::254", ADDRESS_NEVER },
		{ "fdff::1", ADDRESS_PRIVATE },
		{ "fe80::1", ADDRESS_NEVER },
		{ "ff02::1", ADDRESS_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address a = of(rows[i].text);

		if (address_class(&a) != rows[i].class)
			fail_msg("%s is %d", rows[i].text,
				 (int)address_class(&a));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_special_range_has_its_class_up_to_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
