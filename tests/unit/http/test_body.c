/* body: bodies of requests, whole and in pieces of any size. */
#include "http/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Feeds the body in pieces of `step` bytes; *over counts the bytes after its
   end. */
static enum body_answer
feed(struct body *b, const char *text, size_t step, size_t *over)
{
	size_t len = strlen(text), at = 0, used;
	enum body_answer a = BODY_MORE;

	while (at < len && a == BODY_MORE) {
		size_t n = len - at < step ? len - at : step;

		a = body_feed(b, text + at, n, &used);
		assert_true(used <= n);
		at += used;
	}
	*over = len - at;
	return a;
}

static void
assert_chunks(const char *text, enum body_answer want, const char *data,
	      size_t left_over)
{
	for (size_t step = 1; step < 20; step++) {
		own(body) struct body b;
		size_t over;

		body_begin(&b, true, 0, 10);
		assert_int_equal(feed(&b, text, step, &over), want);
		if (want != BODY_WHOLE)
			continue;
		assert_string_equal(buf_text(&b.data), data);
		assert_int_equal(over, left_over);
	}
}

static void
chunked_body_is_joined_and_bytes_after_it_are_not_consumed(void **state)
{
	(void)state;
	assert_chunks("0\r\n\r\n", BODY_WHOLE, "", 0);
	assert_chunks("3\r\nabc\r\n0\r\n\r\n", BODY_WHOLE, "abc", 0);
	assert_chunks("3\r\nabc\r\n02\r\nde\r\n00\r\n\r\nGET", BODY_WHOLE,
		      "abcde", 3);
	assert_chunks("A\r\n0123456789\r\n0\r\n\r\n", BODY_WHOLE, "0123456789",
		      0);
	assert_chunks("3\r\nab", BODY_MORE, NULL, 0);
	assert_chunks("3\r\nabc\r\n0\r\n", BODY_MORE, NULL, 0);
}

static void
ambiguous_chunks_are_rejected(void **state)
{
	static const char *const bad[] = {
		"3\nabc\r\n0\r\n\r\n",
		"3\r\nabc\n0\r\n\r\n",
		"3\r\nabcd\r\n0\r\n\r\n",
		"3;x=y\r\nabc\r\n0\r\n\r\n",
		" 3\r\nabc\r\n0\r\n\r\n",
		"3 \r\nabc\r\n0\r\n\r\n",
		"0x3\r\nabc\r\n0\r\n\r\n",
		"+3\r\nabc\r\n0\r\n\r\n",
		"-1\r\n\r\n",
		"\r\n\r\n",
		"g\r\n",
		"0\r\nX: y\r\n\r\n",
		"000000003\r\nabc\r\n0\r\n",
		"3\r\r\nabc\r\n0\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_chunks(bad[i], BODY_BAD, NULL, 0);
}

static void
body_over_its_limit_is_too_large(void **state)
{
	own(body) struct body b;
	size_t used;

	(void)state;
	assert_chunks("b\r\n0123456789a\r\n0\r\n\r\n", BODY_LARGE, NULL, 0);
	assert_chunks("6\r\n012345\r\n6\r\n678901\r\n", BODY_LARGE, NULL, 0);
	body_begin(&b, false, 11, 10);
	assert_int_equal(body_feed(&b, "0123456789a", 11, &used), BODY_LARGE);
}

static void
plain_body_ends_at_its_length(void **state)
{
	own(body) struct body b;
	size_t over;

	(void)state;
	body_begin(&b, false, 5, 10);
	assert_int_equal(feed(&b, "abcdeGET", 2, &over), BODY_WHOLE);
	assert_string_equal(buf_text(&b.data), "abcde");
	assert_int_equal(over, 3);
	body_free(&b);
	body_begin(&b, false, 0, 10);
	assert_int_equal(body_feed(&b, "GET", 3, &over), BODY_WHOLE);
	assert_int_equal(over, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			chunked_body_is_joined_and_bytes_after_it_are_not_consumed),
		cmocka_unit_test(ambiguous_chunks_are_rejected),
		cmocka_unit_test(body_over_its_limit_is_too_large),
		cmocka_unit_test(plain_body_ends_at_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
