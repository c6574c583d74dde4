/* line_text: foreign text that stays on its line and looks like nothing else.
 */
#include "cli/report/line_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
is_shown(const char *text, size_t max, const char *want)
{
	own(buf) struct buf out = BUF_INIT(10000);

	assert_int_equal(line_text_add(&out, text, max), 0);
	assert_string_equal(buf_text(&out), want);
}

static void
letters_of_all_scripts_stand_for_themselves(void **state)
{
	(void)state;
	is_shown("", 10, "");
	is_shown("/srv/a b.csv", 100, "/srv/a b.csv");
	is_shown("naïve данные 数据 עברית 🙂", 100,
		 "naïve данные 数据 עברית 🙂");
}

static void
what_is_not_seen_is_written_out(void **state)
{
	(void)state;
	is_shown("a\nb\tc\rd", 100, "a\\x0ab\\x09c\\x0dd");
	is_shown("\033[2J\x7f", 100, "\\x1b[2J\\x7f");
	is_shown("\xc2\x85\xc2\x9b\u00a0\u00ad", 100,
		 "\\u{85}\\u{9b}\\u{a0}\\u{ad}");
	is_shown("\u200b\u202e\u2066\ufeff\u3000", 100,
		 "\\u{200b}\\u{202e}\\u{2066}\\u{feff}\\u{3000}");
	is_shown("e\u0301\ue000\U000e0041", 100,
		 "e\\u{301}\\u{e000}\\u{e0041}");
}

static void
what_is_not_utf8_is_written_out_byte_by_byte(void **state)
{
	(void)state;
	is_shown("a\xff\xc3", 100, "a\\xff\\xc3");
	is_shown("\xc3(", 100, "\\xc3(");
	is_shown("\xed\xa0\x80", 100, "\\xed\\xa0\\x80");
	is_shown("\xf0\x9f\x99", 100, "\\xf0\\x9f\\x99");
}

static void
no_text_looks_like_the_escape_of_another(void **state)
{
	(void)state;
	is_shown("\\x0a", 100, "\\\\x0a");
	is_shown("\"; n", 100, "\\\"; n");
}

static void
a_text_is_cut_between_characters_and_says_so(void **state)
{
	(void)state;
	is_shown("abcdef", 6, "abcdef");
	is_shown("abcdefg", 6, "abcdef...");
	is_shown("\n\n\n", 2, "\\x0a\\x0a...");
	is_shown("äöü", 2, "äö...");
}

static void
a_message_keeps_its_quotes(void **state)
{
	own(buf) struct buf out = BUF_INIT(10000);

	(void)state;
	assert_int_equal(line_text_message(&out, "\"a\\b\": \n\u202e", 100), 0);
	assert_string_equal(buf_text(&out), "\"a\\b\": \\x0a\\u{202e}");
}

static void
blanks_do_not_fill_lines(void **state)
{
	(void)state;
	is_shown(" a b ", 100, " a b ");
	is_shown("a   b", 100, "a \\x20\\x20b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_of_all_scripts_stand_for_themselves),
		cmocka_unit_test(what_is_not_seen_is_written_out),
		cmocka_unit_test(what_is_not_utf8_is_written_out_byte_by_byte),
		cmocka_unit_test(no_text_looks_like_the_escape_of_another),
		cmocka_unit_test(a_text_is_cut_between_characters_and_says_so),
		cmocka_unit_test(a_message_keeps_its_quotes),
		cmocka_unit_test(blanks_do_not_fill_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
