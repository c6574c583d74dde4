/* screen: which output of a program may reach a terminal, and foreign text
   within one line. */
#include "cli/report/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "visible.h"

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

/* Filter the text in pieces of `step` bytes, and end it. */
static void
filter_text(struct buf *out, const char *bytes, size_t len, size_t step)
{
	struct screen s = { 0 };

	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;

		assert_int_equal(screen_filter(&s, bytes + at, n, out), 0);
		assert_true(s.pending_len < sizeof(s.pending));
	}
	assert_int_equal(screen_end(&s, out), 0);
	assert_int_equal(s.pending_len, 0);
}

struct row {
	const char *bytes;
	size_t len;
	const char *shown;
};

/* Check the text as one piece, and byte by byte. */
static void
expect_filtered(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t steps[] = { rows[i].len + 1, 1, 2 };

		for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
			own(buf) struct buf out = BUF_INIT(10000);

			filter_text(&out, rows[i].bytes, rows[i].len, steps[k]);
			if (strcmp(buf_text(&out), rows[i].shown))
				fail_msg("row %zu in steps of %zu: %s", i,
					 steps[k], buf_text(&out));
		}
	}
}

static void
screen_passes_text_tab_newline_and_colours(void **state)
{
	static const struct row rows[] = {
		{ BYTES(""), "" },
		{ BYTES("plain ~ text\n"), "plain ~ text\n" },
		{ BYTES("a\tb\n\n"), "a\tb\n\n" },
		{ BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ BYTES("\xc2\xa0"), "\xc2\xa0" },
		{ BYTES("\x1b[31mred\x1b[0m"), "\x1b[31mred\x1b[0m" },
		{ BYTES("\x1b[m"), "\x1b[m" },
		{ BYTES("\x1b[1;38;5;200mx"), "\x1b[1;38;5;200mx" },
		{ BYTES("\x1b[38:2::1:2:3mx"), "\x1b[38:2::1:2:3mx" },
		{ BYTES("\x1b[31m\x1b[1m"), "\x1b[31m\x1b[1m" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_other_sequences(void **state)
{
	static const struct row rows[] = {
		/* cursor, screen, modes, reports */
		{ BYTES("\x1b[2J"), "\\x1b\\x5b\\x32\\x4a" },
		{ BYTES("\x1b[H"), "\\x1b\\x5b\\x48" },
		{ BYTES("\x1b[1A"), "\\x1b\\x5b\\x31\\x41" },
		{ BYTES("\x1b[6n"), "\\x1b\\x5b\\x36\\x6e" },
		{ BYTES("\x1b[?25l"), "\\x1b\\x5b\\x3f25l" },
		{ BYTES("\x1b[>4;1m"), "\\x1b\\x5b\\x3e4;1m" },
		{ BYTES("\x1b[1 q"), "\\x1b\\x5b\\x31\\x20q" },
		/* title, clipboard, links */
		{ BYTES("\x1b]0;title\x07"), "\\x1b\\x5d0;title\\x07" },
		{ BYTES("\x1b]52;c;aGk=\x1b\\"),
		  "\\x1b\\x5d52;c;aGk=\\x1b\\x5c" },
		{ BYTES("\x1bP1$r\x1b\\"), "\\x1b\\x501$r\\x1b\\x5c" },
		{ BYTES("\x1b_x"), "\\x1b\\x5fx" },
		{ BYTES("\x1b"
			"c"),
		  "\\x1b\\x63" },
		{ BYTES("\x1bm"), "\\x1b\\x6d" },
		{ BYTES("\x1b\x1b[31m"), "\\x1b\\x1b[31m" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_control_characters(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\0b"), "a\\x00b" },
		{ BYTES("a\x07"), "a\\x07" },
		{ BYTES("ab\b\bX"), "ab\\x08\\x08X" },
		{ BYTES("a\x7f"), "a\\x7f" },
		{ BYTES("a\v\f"), "a\\x0b\\x0c" },
		{ BYTES("over\rwritten"), "over\\x0dwritten" },
		{ BYTES("\r\rx"), "\\x0d\\x0dx" },
		{ BYTES("\r"), "\\x0d" },
		{ BYTES("\x0e\x0f"), "\\x0e\\x0f" },
		/* C1, as UTF-8 and raw */
		{ BYTES("\xc2\x80"), "\\xc2\\x80" },
		{ BYTES("\xc2\x9b"
			"2J"),
		  "\\xc2\\x9b2J" },
		{ BYTES("\xc2\x9d"
			"0;t"),
		  "\\xc2\\x9d0;t" },
		{ BYTES("\xc2\x9f"), "\\xc2\\x9f" },
		{ BYTES("\x9b"
			"2J"),
		  "\\x9b2J" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_colour_code_with_nul(void **state)
{
	static const struct row rows[] = {
		{ BYTES("\x1b[\0m"), "\\x1b\\x5b\\x00m" },
		{ BYTES("\x1b[1\0;1m"), "\\x1b\\x5b\\x31\\x00;1m" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_accepts_crlf_split_across_pieces(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\r\nb\r\n"), "a\nb\n" },
		{ BYTES("\r\r\n"), "\\x0d\n" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
invalid_utf8_is_shown_as_its_bytes(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\xff\xfe"), "a\\xff\\xfe" },
		{ BYTES("\x80"), "\\x80" },
		{ BYTES("\xc0\x9b"), "\\xc0\\x9b" },
		{ BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80" },
		{ BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_only_the_invalid_byte(void **state)
{
	static const struct row rows[] = {
		/* Latin-1 */
		{ BYTES("caf\xe9\nnext"), "caf\\xe9\nnext" },
		{ BYTES("caf\xe9\r\nnext"), "caf\\xe9\nnext" },
		{ BYTES("\xe9t\xe9\n"), "\\xe9t\\xe9\n" },
		{ BYTES("\xe9\t\xf6\xfc\n"), "\\xe9\t\\xf6\\xfc\n" },
		/* incomplete characters before another */
		{ BYTES("\xe2\x82x"), "\\xe2\\x82x" },
		{ BYTES("\xf0\x9f\x98\nx"), "\\xf0\\x9f\\x98\nx" },
		{ BYTES("\xc3\xc3\xa9"), "\\xc3\xc3\xa9" },
		{ BYTES("\xf0\x9f\x98\xe2\x82\xac"),
		  "\\xf0\\x9f\\x98\xe2\x82\xac" },
		{ BYTES("\xe2\x82\xe2\x82"), "\\xe2\\x82\\xe2\\x82" },
		{ BYTES("\xe9\x1b[31mred"), "\\xe9\x1b[31mred" },
		/* characters that are escaped anyway */
		{ BYTES("\xe9\x1b[2J"), "\\xe9\\x1b\\x5b\\x32\\x4a" },
		{ BYTES("\xe9\x07"), "\\xe9\\x07" },
		{ BYTES("\xe9\rx"), "\\xe9\\x0dx" },
		{ BYTES("\xe9\xc2\x9b"), "\\xe9\\xc2\\x9b" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_incomplete_sequence_at_the_end(void **state)
{
	static const struct row rows[] = {
		{ BYTES("a\x1b"), "a\\x1b" },
		{ BYTES("a\x1b[31"), "a\\x1b\\x5b\\x33\\x31" },
		{ BYTES("a\xe2\x82"), "a\\xe2\\x82" },
	};

	(void)state;
	expect_filtered(rows, ARRAY_LEN(rows));
}

static void
screen_escapes_sequence_inside_incomplete_character(void **state)
{
	static const char bytes[] = "\x1b[31\x1b[2J\xc3\x1b[2J\xe2\x82\x1b]0;";
	own(buf) struct buf out = BUF_INIT(1000);

	(void)state;
	filter_text(&out, BYTES(bytes), 1);
	assert_null(strchr(buf_text(&out), 0x1b));
}

static void
screen_escapes_very_long_colour_code(void **state)
{
	(void)state;
	for (size_t n = 1; n < 200; n++) {
		own(buf) struct buf in = BUF_INIT(1000);
		own(buf) struct buf out = BUF_INIT(10000);
		bool passed;

		assert_int_equal(buf_add(&in, "\x1b[", 2), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(buf_add(&in, "1", 1), 0);
		assert_int_equal(buf_add(&in, "m", 1), 0);
		filter_text(&out, in.data, in.len, 1);
		passed = !strcmp(buf_text(&in), buf_text(&out));
		assert_int_equal(passed, !strchr(buf_text(&out), '\\'));
		assert_int_equal(passed, strchr(buf_text(&out), 0x1b) != NULL);
		if (n < 40)
			assert_true(passed);
		if (n > 100)
			assert_false(passed);
	}
}

static void
raw_screen_passes_everything(void **state)
{
	struct screen s = { .raw = true };
	own(buf) struct buf out = BUF_INIT(100);

	(void)state;
	assert_int_equal(screen_filter(&s, BYTES("\x1b]0;t\x07\r\xff"), &out),
			 0);
	assert_int_equal(screen_end(&s, &out), 0);
	assert_string_equal(buf_text(&out), "\x1b]0;t\x07\r\xff");
}

static void
screen_reports_a_full_buffer(void **state)
{
	struct screen s = { 0 };
	own(buf) struct buf out = BUF_INIT(3);

	(void)state;
	assert_int_equal(screen_filter(&s, BYTES("abcd"), &out), -1);
	buf_free(&out);
	s = (struct screen){ 0 };
	assert_int_equal(screen_filter(&s, BYTES("\x07"), &out), -1);
}

static uint64_t random_state = 88172645463325252;

static uint64_t
random_number(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

/* Random bytes rarely form sequences, so half of the bytes are from these. */
static size_t
random_bytes(char *out, size_t size)
{
	static const char picked[] = "\x1b\x1b\x1b[[[[m;:0123]PJHA\r\n\t\a\b\0"
				     "\xc2\xc2\x9b\x80\xe2\x82\xac\xf0\x7fx";
	size_t n = random_number(size + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = random_number(2)
				 ? picked[random_number(sizeof(picked) - 1)]
				 : (char)random_number(256);
	return n;
}

static void
screen_output_is_only_text_tab_newline_and_colours(void **state)
{
	char bytes[200];

	(void)state;
	for (int round = 0; round < 50000; round++) {
		own(buf) struct buf out = BUF_INIT(10000);
		size_t n = random_bytes(bytes, sizeof(bytes));
		size_t bad;

		filter_text(&out, bytes, n, 1 + random_number(sizeof(bytes)));
		bad = visible_until(buf_text(&out), out.len);
		if (bad != out.len)
			fail_msg("round %d: byte %02x at %zu", round,
				 (unsigned char)out.data[bad], bad);
	}
}

static void
screen_output_does_not_depend_on_piece_boundaries(void **state)
{
	char bytes[64];

	(void)state;
	for (int round = 0; round < 50000; round++) {
		own(buf) struct buf whole = BUF_INIT(1000);
		own(buf) struct buf cut = BUF_INIT(1000);
		size_t n = random_bytes(bytes, sizeof(bytes));

		filter_text(&whole, bytes, n, sizeof(bytes));
		filter_text(&cut, bytes, n, 1 + random_number(8));
		if (whole.len != cut.len ||
		    memcmp(buf_text(&whole), buf_text(&cut), whole.len) != 0)
			fail_msg("round %d: \"%s\" and \"%s\"", round,
				 buf_text(&whole), buf_text(&cut));
	}
}

static void
is_shown(const char *text, size_t max, const char *want)
{
	own(buf) struct buf out = BUF_INIT(10000);

	assert_int_equal(line_text_add(&out, text, max), 0);
	assert_string_equal(buf_text(&out), want);
}

static void
line_text_keeps_letters_of_all_scripts(void **state)
{
	(void)state;
	is_shown("", 10, "");
	is_shown("/srv/a b.csv", 100, "/srv/a b.csv");
	is_shown("naïve данные 数据 עברית 🙂", 100,
		 "naïve данные 数据 עברית 🙂");
}

static void
line_text_escapes_invisible_characters(void **state)
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
line_text_escapes_are_unambiguous(void **state)
{
	(void)state;
	is_shown("\\x0a", 100, "\\\\x0a");
	is_shown("\"; n", 100, "\\\"; n");
}

static void
line_text_is_cut_between_characters_with_a_mark(void **state)
{
	(void)state;
	is_shown("abcdef", 6, "abcdef");
	is_shown("abcdefg", 6, "abcdef...");
	is_shown("\n\n\n", 2, "\\x0a\\x0a...");
	is_shown("äöü", 2, "äö...");
}

static void
line_message_keeps_quotes(void **state)
{
	own(buf) struct buf out = BUF_INIT(10000);

	(void)state;
	assert_int_equal(line_text_message(&out, "\"a\\b\": \n\u202e", 100), 0);
	assert_string_equal(buf_text(&out), "\"a\\b\": \\x0a\\u{202e}");
}

static void
line_text_escapes_repeated_blanks(void **state)
{
	(void)state;
	is_shown(" a b ", 100, " a b ");
	is_shown("a   b", 100, "a \\x20\\x20b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(screen_passes_text_tab_newline_and_colours),
		cmocka_unit_test(screen_escapes_other_sequences),
		cmocka_unit_test(screen_escapes_control_characters),
		cmocka_unit_test(screen_escapes_colour_code_with_nul),
		cmocka_unit_test(screen_accepts_crlf_split_across_pieces),
		cmocka_unit_test(invalid_utf8_is_shown_as_its_bytes),
		cmocka_unit_test(screen_escapes_only_the_invalid_byte),
		cmocka_unit_test(screen_escapes_incomplete_sequence_at_the_end),
		cmocka_unit_test(
			screen_escapes_sequence_inside_incomplete_character),
		cmocka_unit_test(screen_escapes_very_long_colour_code),
		cmocka_unit_test(raw_screen_passes_everything),
		cmocka_unit_test(screen_reports_a_full_buffer),
		cmocka_unit_test(
			screen_output_is_only_text_tab_newline_and_colours),
		cmocka_unit_test(
			screen_output_does_not_depend_on_piece_boundaries),
		cmocka_unit_test(line_text_keeps_letters_of_all_scripts),
		cmocka_unit_test(line_text_escapes_invisible_characters),
		cmocka_unit_test(what_is_not_utf8_is_written_out_byte_by_byte),
		cmocka_unit_test(line_text_escapes_are_unambiguous),
		cmocka_unit_test(
			line_text_is_cut_between_characters_with_a_mark),
		cmocka_unit_test(line_message_keeps_quotes),
		cmocka_unit_test(line_text_escapes_repeated_blanks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
