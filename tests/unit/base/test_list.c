/* list: owned strings in order. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
list_entries_are_copies_in_order_and_null_terminated(void **state)
{
	own(list) struct list l = { 0 };
	char text[] = "one";

	(void)state;
	assert_int_equal(list_add(&l, text), 0);
	text[0] = 'X';
	assert_int_equal(list_add(&l, ""), 0);
	assert_int_equal(list_add(&l, "three"), 0);
	assert_int_equal(l.count, 3);
	assert_string_equal(l.items[0], "one");
	assert_string_equal(l.items[1], "");
	assert_string_equal(l.items[2], "three");
	assert_null(l.items[3]);
}

static void
list_copy_is_independent(void **state)
{
	own(list) struct list from = { 0 };
	own(list) struct list to = { 0 };

	(void)state;
	assert_int_equal(list_add(&to, "first"), 0);
	assert_int_equal(list_add(&from, "a"), 0);
	assert_int_equal(list_add(&from, "b"), 0);
	assert_int_equal(list_copy(&to, &from), 0);
	list_free(&from);
	assert_int_equal(to.count, 3);
	assert_string_equal(to.items[0], "first");
	assert_string_equal(to.items[1], "a");
	assert_string_equal(to.items[2], "b");
	assert_null(to.items[3]);
}

static void
a_freed_list_is_empty_and_can_be_used_again(void **state)
{
	own(list) struct list l = { 0 };

	(void)state;
	assert_int_equal(list_add(&l, "a"), 0);
	list_free(&l);
	assert_int_equal(l.count, 0);
	assert_null(l.items);
	list_free(&l);
	assert_int_equal(list_add(&l, "b"), 0);
	assert_string_equal(l.items[0], "b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			list_entries_are_copies_in_order_and_null_terminated),
		cmocka_unit_test(list_copy_is_independent),
		cmocka_unit_test(a_freed_list_is_empty_and_can_be_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
