/* bench_template: fills the holes of words. */
#include "bench_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
hole_is_filled_anywhere_in_a_word(void **state)
{
	const char *const words[] = { "run", "{a}", "-v{a}:{b}:ro", NULL };
	const struct bench_hole holes[] = {
		{ .name = "a", .text = "one" },
		{ .name = "b", .text = "" },
		{ 0 },
	};
	own(list) struct list out = { 0 };
	struct remit_error err;

	(void)state;
	assert_int_equal(bench_template_fill(&out, words, holes, &err), 0);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.items[0], "run");
	assert_string_equal(out.items[1], "one");
	assert_string_equal(out.items[2], "-vone::ro");
}

static void
list_hole_becomes_one_word_per_item(void **state)
{
	const char *const words[] = { "{none}", "{two}", "end", NULL };
	own(list) struct list none = { 0 };
	own(list) struct list two = { 0 };
	own(list) struct list out = { 0 };
	const struct bench_hole holes[] = {
		{ .name = "none", .list = &none },
		{ .name = "two", .list = &two },
		{ 0 },
	};
	struct remit_error err;

	(void)state;
	assert_int_equal(list_add(&two, "--bind"), 0);
	assert_int_equal(list_add(&two, "/usr"), 0);
	assert_int_equal(bench_template_fill(&out, words, holes, &err), 0);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.items[0], "--bind");
	assert_string_equal(out.items[1], "/usr");
	assert_string_equal(out.items[2], "end");
}

/* The text of a program may contain braces. */
static void
filled_text_is_not_expanded_again(void **state)
{
	const char *const words[] = { "{code}", "{other}", "{", NULL };
	const struct bench_hole holes[] = {
		{ .name = "code", .text = "{'a': '{code}'}" },
		{ 0 },
	};
	own(list) struct list out = { 0 };
	struct remit_error err;

	(void)state;
	assert_int_equal(bench_template_fill(&out, words, holes, &err), 0);
	assert_string_equal(out.items[0], "{'a': '{code}'}");
	assert_string_equal(out.items[1], "{other}");
	assert_string_equal(out.items[2], "{");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hole_is_filled_anywhere_in_a_word),
		cmocka_unit_test(list_hole_becomes_one_word_per_item),
		cmocka_unit_test(filled_text_is_not_expanded_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
