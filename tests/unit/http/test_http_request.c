/* http_request: the rewritten head, and the end of the body. */
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
rewritten_head_asks_the_server_to_close(void **state)
{
	static const char old[] = "GET http://a/x HTTP/1.1\r\nHost: a\r\n"
				  "connection: keep-alive\r\nX-KEY: mine\r\n"
				  "Proxy-Authorization: x\r\nAccept: */*\r\n"
				  "Keep-Alive: 5\r\n\r\nrest";
	static const char new[] = "GET /x HTTP/1.1\r\nHost: a\r\n"
				  "Accept: */*\r\nConnection: close\r\n"
				  "X-Key: secret\r\n\r\n";
	struct http_header put = { "X-Key", "secret" };
	char out[sizeof(old) + HTTP_REQUEST_MORE];
	struct http_text target;
	struct http_head h;
	size_t n;

	(void)state;
	assert_int_equal(http_head_read(old, sizeof(old) - 1, &h), HEAD_NAME);
	target = (struct http_text){ h.target.text + 8, 2 };
	n = http_request_write(out, old, &h, target, &put);
	assert_int_equal(n, sizeof(new) - 1);
	assert_memory_equal(out, new, n);
	/* Without a header to add, the code's own header stays. */
	n = http_request_write(out, old, &h, target, NULL);
	assert_non_null(memmem(out, n, "X-KEY: mine", 11));
	assert_null(memmem(out, n, "secret", 6));
}

static int
feed_body(uint64_t length, bool chunked, const char *bytes, bool *over)
{
	struct http_head h = { .body_bytes = length, .is_chunked = chunked };
	struct http_body b;
	int taken;

	http_body_begin(&b, &h);
	taken = http_body_feed(&b, bytes, strlen(bytes));
	*over = b.state == BODY_OVER;
	return taken;
}

static void
body_ends_where_its_head_says(void **state)
{
	bool over;

	(void)state;
	assert_int_equal(feed_body(0, false, "", &over), 0);
	assert_true(over);
	assert_int_equal(feed_body(0, false, "G", &over), -1);
	assert_int_equal(feed_body(3, false, "ab", &over), 0);
	assert_false(over);
	assert_int_equal(feed_body(3, false, "abc", &over), 0);
	assert_true(over);
	assert_int_equal(feed_body(3, false, "abcG", &over), -1);
}

static void
chunks_are_parsed_to_their_end_and_in_canonical_form_only(void **state)
{
	static const char *const whole[] = {
		"0\r\n\r\n",
		"3\r\nabc\r\n0\r\n\r\n",
		"00a\r\n0123456789\r\n000\r\n\r\n",
		"A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n",
	};
	static const char *const bad[] = {
		"\r\n",
		"3\nabc",
		"3;x=y\r\nabc\r\n0\r\n\r\n",
		"3 \r\nabc\r\n0\r\n\r\n",
		"+3\r\nabc\r\n",
		"0x3\r\nabc\r\n",
		"3\r\nabcd\r\n",
		"3\r\nabc\n0\r\n\r\n",
		"3\r\nabc0\r\n\r\n",
		"0\r\nX: y\r\n\r\n",
		"0\r\n\r\nGET / HTTP/1.1\r\n",
		"0000000000000000\r\n",
		"ffffffffffffffff\r\n",
		"3\r\r\n",
	};
	bool over;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		assert_int_equal(feed_body(0, true, whole[i], &over), 0);
		assert_true(over);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (feed_body(0, true, bad[i], &over) == 0)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(feed_body(0, true, "3\r\nab", &over), 0);
	assert_false(over);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rewritten_head_asks_the_server_to_close),
		cmocka_unit_test(body_ends_where_its_head_says),
		cmocka_unit_test(
			chunks_are_parsed_to_their_end_and_in_canonical_form_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
