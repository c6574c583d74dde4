/* line_edit: what keys make of a line, and what the terminal shows of it. */
#include "cli/repl/line_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LEFT  "\033[D"
#define RIGHT "\033[C"
#define UP    "\033[A"
#define DOWN  "\033[B"
#define HOME  "\033[H"
#define END   "\033OF"
#define DEL   "\033[3~"

static enum line_state
type(struct line_edit *e, const char *keys)
{
	enum line_state state = LINE_MORE;

	for (; *keys && state == LINE_MORE; keys++)
		state = line_edit_take(e, (unsigned char)*keys);
	assert_int_equal(*keys, '\0');
	return state;
}

/* The line that these keys make of nothing. */
static void
makes(const char *keys, const char *want)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	line_edit_begin(&e);
	assert_int_equal(type(&e, keys), LINE_MORE);
	assert_string_equal(buf_text(&e.text), want);
	assert_true(e.at <= e.text.len);
	assert_int_equal(strlen(buf_text(&e.text)), e.text.len);
}

static void
letters_go_in_where_the_cursor_is(void **state)
{
	(void)state;
	makes("", "");
	makes("abc", "abc");
	makes("ac" LEFT "b", "abc");
	makes("bc" HOME "a" END "d", "abcd");
	makes("\001a\005b\002c\006d", "acbd");
	makes("a" LEFT LEFT LEFT RIGHT RIGHT RIGHT "b", "ab");
	makes("if x:\t", "if x:    ");
}

static void
characters_of_many_bytes_are_one(void **state)
{
	(void)state;
	makes("ä数🙂", "ä数🙂");
	makes("ä数🙂\177", "ä数");
	makes("ä数🙂" LEFT LEFT "x", "äx数🙂");
	makes("ä数" HOME DEL, "数");
	/* What is none is nothing. */
	makes("a\xff"
	      "b\xc3"
	      "(c",
	      "abc");
}

static void
parts_of_a_line_are_erased(void **state)
{
	(void)state;
	makes("abc\177\177", "a");
	makes("\177\010", "");
	makes("abc" HOME DEL, "bc");
	makes("abc" DEL, "abc");
	makes("abc" LEFT "\004", "ab");
	makes("one two" LEFT LEFT LEFT "\013", "one ");
	makes("one two" LEFT LEFT LEFT "\025", "two");
	makes("one two  \027", "one ");
	makes("one\027\027", "");
}

static void
unknown_keys_change_nothing(void **state)
{
	(void)state;
	makes("a\033[5~b", "ab");
	makes("a\033[1;5Cb", "ab");
	makes("a\033[99999999999999999999~b", "a9999999~b");
	makes("a\033xb", "ab");
	makes("a\033[Mb", "ab");
	makes("a\001\007\016\032b", "ba");
}

static void
a_line_ends_in_three_ways(void **state)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	(void)state;
	line_edit_begin(&e);
	assert_int_equal(type(&e, "abc\r"), LINE_DONE);
	assert_string_equal(buf_text(&e.text), "abc");
	line_edit_begin(&e);
	assert_string_equal(buf_text(&e.text), "");
	assert_int_equal(type(&e, "abc\003"), LINE_STOPPED);
	line_edit_begin(&e);
	assert_int_equal(type(&e, "\004"), LINE_END);
}

static void
earlier_lines_come_back(void **state)
{
	static const char *const lines[] = { "one", "two", "two", "", "three" };
	static const struct {
		const char *keys, *want;
	} rows[] = {
		{ UP, "three" },
		{ UP UP, "two" },
		{ UP UP UP, "one" },
		{ UP UP UP UP, "one" },
		{ "own" UP DOWN, "own" },
		{ "own" UP UP DOWN DOWN DOWN, "own" },
		{ UP DOWN, "" },
		{ UP "!" UP DOWN, "three" },
		{ "\020\020\016", "three" },
	};
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_int_equal(line_edit_remember(&e, lines[i]), 0);
	assert_int_equal(e.history.count, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		line_edit_begin(&e);
		type(&e, rows[i].keys);
		assert_string_equal(buf_text(&e.text), rows[i].want);
	}
}

static void
the_oldest_of_too_many_lines_is_forgotten(void **state)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;
	char line[16];

	(void)state;
	for (int i = 0; i < LINE_EDIT_HISTORY + 5; i++) {
		snprintf(line, sizeof(line), "%d", i);
		assert_int_equal(line_edit_remember(&e, line), 0);
	}
	assert_int_equal(e.history.count, LINE_EDIT_HISTORY);
	assert_string_equal(e.history.items[0], "5");
	assert_null(e.history.items[LINE_EDIT_HISTORY]);
}

static void
a_line_that_is_full_stays_as_it_is(void **state)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	(void)state;
	line_edit_begin(&e);
	for (int i = 0; i < LINE_EDIT_BYTES + 10; i++)
		assert_int_equal(line_edit_take(&e, 'x'), LINE_MORE);
	assert_int_equal(e.text.len, LINE_EDIT_BYTES);
	assert_int_equal(e.at, LINE_EDIT_BYTES);
}

static void
shows(const char *keys, unsigned columns, const char *want)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;
	own(buf) struct buf out = BUF_INIT(1000);

	line_edit_begin(&e);
	type(&e, keys);
	assert_int_equal(line_edit_draw(&e, ">>> ", columns, &out), 0);
	assert_string_equal(buf_text(&out), want);
}

static void
the_part_around_the_cursor_is_shown(void **state)
{
	(void)state;
	shows("", 80, "\r>>> \033[K\r\033[4C");
	shows("abc", 80, "\r>>> abc\033[K\r\033[7C");
	shows("abc" LEFT, 80, "\r>>> abc\033[K\r\033[6C");
	shows("数a", 80, "\r>>> 数a\033[K\r\033[7C");
	shows("0123456789abcdef", 14, "\r>>> 789abcdef\033[K\r\033[13C");
	shows("0123456789abcdef" HOME, 14, "\r>>> 012345678\033[K\r\033[4C");
	shows("0123456789abcdef", 1, "\r>>> 9abcdef\033[K\r\033[11C");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_go_in_where_the_cursor_is),
		cmocka_unit_test(characters_of_many_bytes_are_one),
		cmocka_unit_test(parts_of_a_line_are_erased),
		cmocka_unit_test(unknown_keys_change_nothing),
		cmocka_unit_test(a_line_ends_in_three_ways),
		cmocka_unit_test(earlier_lines_come_back),
		cmocka_unit_test(the_oldest_of_too_many_lines_is_forgotten),
		cmocka_unit_test(a_line_that_is_full_stays_as_it_is),
		cmocka_unit_test(the_part_around_the_cursor_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
