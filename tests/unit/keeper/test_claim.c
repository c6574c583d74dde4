/* claim: how reports of a hostile process are parsed. */
#include "keeper/output/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "wire/record.h"

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

typedef int parse_fn(struct claim *, const char *, size_t,
		     struct remit_error *);

/* Copies the payload to memory that ends where it ends. */
static int
parse(parse_fn *f, struct claim *c, const char *bytes, size_t len)
{
	own_mem char *exact = malloc(len ? len : 1);
	struct remit_error err = { 0 };
	int r;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	r = f(c, exact, len, &err);
	if (r < 0)
		assert_int_equal(err.code, REMIT_E_PROTOCOL);
	return r;
}

static void
says(const struct claim *c, const char *key, const char *want)
{
	assert_string_equal(json_string_value(json_object_get(c->error, key)),
			    want);
}

static void
has_line(const struct claim *c, json_int_t want)
{
	json_t *line = json_object_get(c->error, "line");

	if (want < 0)
		assert_true(json_is_null(line));
	else
		assert_int_equal(json_integer_value(line), want);
}

static void
refused_path_is_kept_with_its_error(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0denied_errno\0"
				     "13\0denied_path\0/a\0denied_path\0/b\0")),
			 0);
	assert_string_equal(c.denied_path, "/a");
	assert_int_equal(c.denied_errno, 13);
	assert_false(c.denied_execution);
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0denied_execution\0"
				     "1\0")),
			 0);
	assert_true(c.denied_execution);
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0denied_errno\0"
				     "-1\0denied_errno\09999999999\0")),
			 0);
	assert_null(c.denied_path);
	assert_int_equal(c.denied_errno, 0);
	/* Nothing of an end of an unknown kind is kept. */
	assert_int_equal(
		parse(claim_parse_ended, &c, BYTES("denied_path\0/a\0")), -1);
	assert_null(c.denied_path);
}

static void
missing_module_is_kept_once_and_gets_its_remedy(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0missing_module\0cv2\0"
				     "missing_module\0other\0remedy\0lies\0"
				     "package\0evil\0")),
			 0);
	assert_string_equal(c.missing_module, "cv2");
	/* Only the keeper adds these two. */
	assert_null(json_object_get(c.error, "package"));
	assert_null(json_object_get(c.error, "remedy"));
	claim_add_package(&c, "opencv-python-headless", CLAIM_INSTALL_BEFORE);
	says(&c, "package", "opencv-python-headless");
	says(&c, "remedy",
	     "cv2 is not installed. Try --package opencv-python-headless, or "
	     "add \"opencv-python-headless\" to the policy's packages.");
	assert_int_equal(parse(claim_parse_checked, &c,
			       BYTES("name\0E\0missing_module\0polars\0")),
			 0);
	assert_string_equal(c.missing_module, "polars");
	assert_int_equal(parse(claim_parse_ended, &c, BYTES("kind\0ok\0")), 0);
	assert_null(c.missing_module);
}

static void
empty_checked_payload_claims_nothing(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_checked, &c, BYTES("")), 0);
	assert_int_equal(c.kind, CLAIM_NONE);
	assert_null(c.error);
}

static void
rejection_has_its_reason(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_checked, &c,
			       BYTES("name\0SyntaxError\0value\0no\0"
				     "line\0007\0traceback\0T\0")),
			 0);
	assert_int_equal(c.kind, CLAIM_REJECTED);
	says(&c, "name", "SyntaxError");
	says(&c, "value", "no");
	says(&c, "traceback", "T");
	has_line(&c, 7);
}

static void
end_is_ok_error_or_exit(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum claim_kind kind;
	} rows[] = {
		{ BYTES("kind\0ok\0"), CLAIM_OK },
		{ BYTES("kind\0error\0"), CLAIM_ERROR },
		{ BYTES("kind\0exit\0"), CLAIM_EXIT },
		{ BYTES("name\0x\0kind\0ok\0"), CLAIM_OK },
		/* repeated: the last known value counts */
		{ BYTES("kind\0ok\0kind\0error\0"), CLAIM_ERROR },
		{ BYTES("kind\0error\0kind\0ok\0"), CLAIM_OK },
		{ BYTES("kind\0exit\0kind\0timeout\0"), CLAIM_EXIT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(claim) struct claim c = { 0 };

		assert_int_equal(parse(claim_parse_ended, &c, rows[i].bytes,
				       rows[i].len),
				 0);
		if (c.kind != rows[i].kind)
			fail_msg("row %zu: kind %d", i, c.kind);
		assert_int_equal(c.error != NULL, c.kind == CLAIM_ERROR);
	}
}

static void
end_of_unknown_kind_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ BYTES("") },
		/* this kind in particular must be refused */
		{ BYTES("kind\0rejected\0") },
		{ BYTES("kind\0OK\0") },
		{ BYTES("kind\0\0") },
		{ BYTES("kind\0okay\0") },
		{ BYTES("Kind\0ok\0") },
		{ BYTES("value\0ok\0") },
		{ BYTES("\0ok\0") },
		{ BYTES("exit\0007\0") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(claim) struct claim c = {
			.kind = CLAIM_EXIT,
			.error = json_string("kept"),
		};

		if (parse(claim_parse_ended, &c, rows[i].bytes, rows[i].len) ==
		    0)
			fail_msg("row %zu: kind %d", i, c.kind);
		assert_int_equal(c.kind, CLAIM_EXIT);
		assert_string_equal(json_string_value(c.error), "kept");
		/* With an exit code in the claim, a program could hide that it
		   was killed for its memory. */
		assert_false(c.has_exit_code);
	}
}

static void
exit_code_is_a_number_up_to_255(void **state)
{
	static const struct {
		const char *text;
		int code; /* -1: none */
	} rows[] = {
		{ "0", 0 },    { "1", 1 },     { "255", 255 },
		{ "256", -1 }, { "-1", -1 },   { "18446744073709551616", -1 },
		{ "", -1 },    { " 1", -1 },   { "1.0", -1 },
		{ "0x1", -1 }, { "1x", -1 },   { "4294967296", -1 },
		{ "+1", -1 },  { "\xff", -1 },
	};
	static const char *const kinds[] = { "ok", "error", "exit" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(kinds); i++) {
		int code = rows[i / ARRAY_LEN(kinds)].code;
		own(claim) struct claim c = { 0 };
		own(buf) struct buf b = BUF_INIT(100);

		assert_int_equal(
			record_add(&b, "exit", rows[i / ARRAY_LEN(kinds)].text),
			0);
		assert_int_equal(
			record_add(&b, "kind", kinds[i % ARRAY_LEN(kinds)]), 0);
		assert_int_equal(parse(claim_parse_ended, &c, b.data, b.len),
				 0);
		assert_int_equal(c.has_exit_code, code >= 0);
		if (code >= 0)
			assert_int_equal(c.exit_code, code);
	}
}

/* Code that was only checked has no exit code. */
static void
exit_code_is_accepted_only_in_an_end(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(
		parse(claim_parse_checked, &c, BYTES("exit\0000\0name\0E\0")),
		0);
	assert_int_equal(c.kind, CLAIM_REJECTED);
	assert_false(c.has_exit_code);
	assert_int_equal(parse(claim_parse_ended, &c, BYTES("kind\0ok\0")), 0);
	assert_false(c.has_exit_code);
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0ok\0exit_code\0000\0"
				     "Exit\0000\0")),
			 0);
	assert_false(c.has_exit_code);
}

static void
incomplete_payloads_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ BYTES("k") },
		{ BYTES("kind\0ok") },
		{ BYTES("kind\0") },
		{ BYTES("\0") },
		{ BYTES("kind\0ok\0kind\0") },
		{ BYTES("kind\0ok\0kind\0error") },
		{ BYTES("\xff\xff\xff\xff") },
	};
	static parse_fn *const parsers[] = { claim_parse_checked,
					     claim_parse_ended };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t p = 0; p < ARRAY_LEN(parsers); p++) {
			own(claim) struct claim c = {
				.kind = CLAIM_EXIT,
				.error = json_string("kept"),
				.has_exit_code = true,
				.exit_code = 7,
			};

			assert_int_equal(parse(parsers[p], &c, rows[i].bytes,
					       rows[i].len),
					 -1);
			assert_int_equal(c.kind, CLAIM_EXIT);
			assert_true(c.has_exit_code);
			assert_int_equal(c.exit_code, 7);
			assert_string_equal(json_string_value(c.error), "kept");
		}
}

static void
error_has_exactly_the_known_members(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0remedy\0pay\0where\0x\0"
				     "exit_code\0000\0\0\0")),
			 0);
	assert_int_equal(json_object_size(c.error), 8);
	says(&c, "name", "");
	says(&c, "value", "");
	says(&c, "traceback", "");
	has_line(&c, -1);
}

static void
line_is_a_bounded_number(void **state)
{
	static const struct {
		const char *text;
		json_int_t line;
	} rows[] = {
		{ "0", 0 },
		{ "12", 12 },
		{ "2147483647", 2147483647 },
		{ "2147483648", -1 },
		{ "18446744073709551615", -1 },
		{ "99999999999999999999999999", -1 },
		{ "-1", -1 },
		{ "1.5", -1 },
		{ " 1", -1 },
		{ "", -1 },
		{ "\xff", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(claim) struct claim c = { 0 };
		own(buf) struct buf b = BUF_INIT(100);

		assert_int_equal(record_add(&b, "line", rows[i].text), 0);
		assert_int_equal(parse(claim_parse_checked, &c, b.data, b.len),
				 0);
		has_line(&c, rows[i].line);
	}
}

static void
invalid_text_is_replaced_and_not_lost(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0name\0a\xff"
				     "b\0value\0\xed\xa0\x80\0"
				     "traceback\0\xe2\x82\0")),
			 0);
	says(&c, "name",
	     "a\xef\xbf\xbd"
	     "b");
	says(&c, "value", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	says(&c, "traceback", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void
last_of_two_equal_keys_counts(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_checked, &c,
			       BYTES("name\0a\0name\0b\0line\0003\0"
				     "line\0004\0")),
			 0);
	says(&c, "name", "b");
	has_line(&c, 4);
}

static void
later_claim_replaces_the_earlier_one(void **state)
{
	own(claim) struct claim c = { 0 };

	(void)state;
	assert_int_equal(parse(claim_parse_ended, &c,
			       BYTES("kind\0error\0exit\0001\0name\0E\0")),
			 0);
	assert_true(c.has_exit_code);
	assert_int_equal(parse(claim_parse_ended, &c, BYTES("kind\0ok\0")), 0);
	assert_int_equal(c.kind, CLAIM_OK);
	assert_null(c.error);
	assert_false(c.has_exit_code);
}

/* The largest payload that the frame table allows. */
static void
largest_payload_is_parsed(void **state)
{
	own(claim) struct claim c = { 0 };
	own(buf) struct buf b = BUF_INIT(256 * 1024);
	size_t head = sizeof("kind\0error\0value") + 1;
	own_mem char *value = malloc(256 * 1024);

	(void)state;
	assert_non_null(value);
	memset(value, '\xff', 256 * 1024);
	value[256 * 1024 - head] = '\0';
	assert_int_equal(record_add(&b, "kind", "error"), 0);
	assert_int_equal(record_add(&b, "value", value), 0);
	assert_int_equal(parse(claim_parse_ended, &c, b.data, b.len), 0);
	assert_int_equal(json_string_length(json_object_get(c.error, "value")),
			 3 * (256 * 1024 - head));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_path_is_kept_with_its_error),
		cmocka_unit_test(
			missing_module_is_kept_once_and_gets_its_remedy),
		cmocka_unit_test(empty_checked_payload_claims_nothing),
		cmocka_unit_test(rejection_has_its_reason),
		cmocka_unit_test(end_is_ok_error_or_exit),
		cmocka_unit_test(end_of_unknown_kind_is_refused),
		cmocka_unit_test(exit_code_is_a_number_up_to_255),
		cmocka_unit_test(exit_code_is_accepted_only_in_an_end),
		cmocka_unit_test(incomplete_payloads_are_refused),
		cmocka_unit_test(error_has_exactly_the_known_members),
		cmocka_unit_test(line_is_a_bounded_number),
		cmocka_unit_test(invalid_text_is_replaced_and_not_lost),
		cmocka_unit_test(last_of_two_equal_keys_counts),
		cmocka_unit_test(later_claim_replaces_the_earlier_one),
		cmocka_unit_test(largest_payload_is_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
