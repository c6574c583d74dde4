/* names: an address inside for each name. */
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
find(struct names *all, in_addr_t inside)
{
	struct address a = address_v4(inside);

	return names_find_inside(all, &a);
}

static void
a_name_keeps_its_address_and_an_address_its_name(void **state)
{
	static struct names all;
	struct name *a = names_take(&all, "a.example");
	struct name *b = names_take(&all, "b.example");

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(names_take(&all, "a.example"), a);
	assert_ptr_equal(find(&all, names_inside(&all, a)), a);
	assert_ptr_equal(find(&all, names_inside(&all, b)), b);
	assert_int_equal(ntohl(names_inside(&all, a)) >> 17, 0xc6120000u >> 17);
}

static void
an_address_that_nobody_was_given_has_no_name(void **state)
{
	static struct names all;
	struct name *a = names_take(&all, "a.example");
	uint32_t inside = ntohl(names_inside(&all, a));
	struct address six;

	(void)state;
	assert_null(find(&all, htonl(inside + 1)));
	assert_null(find(&all, htonl(inside - 1)));
	assert_null(find(&all, 0));
	assert_null(find(&all, htonl(0x7f000001)));
	/* The same bytes at the beginning of another family's. */
	six = address_v4(names_inside(&all, a));
	six.is_v6 = true;
	assert_null(names_find_inside(&all, &six));
}

static void
the_table_ends(void **state)
{
	static struct names all;
	char text[32];

	(void)state;
	for (int i = 0; i < NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "n%d.example", i);
		assert_non_null(names_take(&all, text));
	}
	assert_null(names_take(&all, "one.more"));
	assert_non_null(names_take(&all, "n0.example"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_name_keeps_its_address_and_an_address_its_name),
		cmocka_unit_test(an_address_that_nobody_was_given_has_no_name),
		cmocka_unit_test(the_table_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
