/* line_edit: how keys change a line, and what the terminal shows. */
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
type_keys(struct line_edit *e, const char *keys)
{
	enum line_state state = LINE_MORE;

	for (; *keys && state == LINE_MORE; keys++)
		state = line_edit_feed(e, (unsigned char)*keys);
	assert_int_equal(*keys, '\0');
	return state;
}

/* Check the line that results from these keys. */
static void
expect_text(const char *keys, const char *want)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	line_edit_begin(&e);
	assert_int_equal(type_keys(&e, keys), LINE_MORE);
	assert_string_equal(buf_text(&e.text), want);
	assert_true(e.at <= e.text.len);
	assert_int_equal(strlen(buf_text(&e.text)), e.text.len);
}

static void
letters_are_inserted_at_the_cursor(void **state)
{
	(void)state;
	expect_text("", "");
	expect_text("abc", "abc");
	expect_text("ac" LEFT "b", "abc");
	expect_text("bc" HOME "a" END "d", "abcd");
	expect_text("\001a\005b\002c\006d", "acbd");
	expect_text("a" LEFT LEFT LEFT RIGHT RIGHT RIGHT "b", "ab");
	expect_text("if x:\t", "if x:    ");
}

static void
multibyte_character_is_one_character(void **state)
{
	(void)state;
	expect_text("ä数🙂", "ä数🙂");
	expect_text("ä数🙂\177", "ä数");
	expect_text("ä数🙂" LEFT LEFT "x", "äx数🙂");
	expect_text("ä数" HOME DEL, "数");
	/* Invalid UTF-8 is ignored. */
	expect_text("a\xff"
		    "b\xc3"
		    "(c",
		    "abc");
}

static void
erase_keys_remove_parts_of_the_line(void **state)
{
	(void)state;
	expect_text("abc\177\177", "a");
	expect_text("\177\010", "");
	expect_text("abc" HOME DEL, "bc");
	expect_text("abc" DEL, "abc");
	expect_text("abc" LEFT "\004", "ab");
	expect_text("one two" LEFT LEFT LEFT "\013", "one ");
	expect_text("one two" LEFT LEFT LEFT "\025", "two");
	expect_text("one two  \027", "one ");
	expect_text("one\027\027", "");
}

static void
unknown_keys_change_nothing(void **state)
{
	(void)state;
	expect_text("a\033[5~b", "ab");
	expect_text("a\033[1;5Cb", "ab");
	expect_text("a\033[99999999999999999999~b", "a9999999~b");
	expect_text("a\033xb", "ab");
	expect_text("a\033[Mb", "ab");
	expect_text("a\001\007\016\032b", "ba");
}

static void
line_ends_by_enter_interrupt_or_end_of_file(void **state)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	(void)state;
	line_edit_begin(&e);
	assert_int_equal(type_keys(&e, "abc\r"), LINE_DONE);
	assert_string_equal(buf_text(&e.text), "abc");
	line_edit_begin(&e);
	assert_string_equal(buf_text(&e.text), "");
	assert_int_equal(type_keys(&e, "abc\003"), LINE_STOPPED);
	line_edit_begin(&e);
	assert_int_equal(type_keys(&e, "\004"), LINE_END);
}

static void
history_brings_back_earlier_lines(void **state)
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
		type_keys(&e, rows[i].keys);
		assert_string_equal(buf_text(&e.text), rows[i].want);
	}
}

static void
history_drops_its_oldest_line_when_full(void **state)
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
full_line_accepts_no_more(void **state)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;

	(void)state;
	line_edit_begin(&e);
	for (int i = 0; i < LINE_EDIT_BYTES + 10; i++)
		assert_int_equal(line_edit_feed(&e, 'x'), LINE_MORE);
	assert_int_equal(e.text.len, LINE_EDIT_BYTES);
	assert_int_equal(e.at, LINE_EDIT_BYTES);
}

static void
expect_drawn(const char *keys, unsigned columns, const char *want)
{
	own(line_edit) struct line_edit e = LINE_EDIT_INIT;
	own(buf) struct buf out = BUF_INIT(1000);

	line_edit_begin(&e);
	type_keys(&e, keys);
	assert_int_equal(line_edit_draw(&e, ">>> ", columns, &out), 0);
	assert_string_equal(buf_text(&out), want);
}

static void
long_line_is_drawn_around_the_cursor(void **state)
{
	(void)state;
	expect_drawn("", 80, "\r>>> \033[K\r\033[4C");
	expect_drawn("abc", 80, "\r>>> abc\033[K\r\033[7C");
	expect_drawn("abc" LEFT, 80, "\r>>> abc\033[K\r\033[6C");
	expect_drawn("数a", 80, "\r>>> 数a\033[K\r\033[7C");
	expect_drawn("0123456789abcdef", 14, "\r>>> 789abcdef\033[K\r\033[13C");
	expect_drawn("0123456789abcdef" HOME, 14,
		     "\r>>> 012345678\033[K\r\033[4C");
	expect_drawn("0123456789abcdef", 1, "\r>>> 9abcdef\033[K\r\033[11C");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_are_inserted_at_the_cursor),
		cmocka_unit_test(multibyte_character_is_one_character),
		cmocka_unit_test(erase_keys_remove_parts_of_the_line),
		cmocka_unit_test(unknown_keys_change_nothing),
		cmocka_unit_test(line_ends_by_enter_interrupt_or_end_of_file),
		cmocka_unit_test(history_brings_back_earlier_lines),
		cmocka_unit_test(history_drops_its_oldest_line_when_full),
		cmocka_unit_test(full_line_accepts_no_more),
		cmocka_unit_test(long_line_is_drawn_around_the_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
