/* http_forward: the forwarded request, and the beginning of the reply. */
#include "http/forward.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const secrets[] = { "x-token", NULL };

static void
forward_request(const char *old, const char *expected, bool expect_upgrade)
{
	own(buf) struct buf out = BUF_INIT(HEAD_MAX);
	struct http_head h;
	bool upgrades;

	assert_int_equal(http_head_read(old, strlen(old), &h), HEAD_NAME);
	assert_int_equal(
		http_forward_request(&out, old, &h, secrets, &upgrades), 0);
	assert_string_equal(buf_text(&out), expected);
	assert_int_equal(upgrades, expect_upgrade);
}

static void
request_loses_secrets_and_headers_of_its_connection(void **state)
{
	(void)state;
	forward_request("GET /x?y HTTP/1.1\r\nHost: 3000-a.test:8\r\n"
			"X-Token: secret\r\nConnection: keep-alive, x-mine\r\n"
			"X-Mine: 1\r\nTE: trailers\r\nx-token:again\r\n"
			"Cookie: a=b\r\nKeep-Alive: 5\r\nUpgrade: h2c\r\n\r\n"
			"body",
			"GET /x?y HTTP/1.1\r\nHost: 3000-a.test:8\r\n"
			"Cookie: a=b\r\nConnection: close\r\n\r\n",
			false);
	forward_request(
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\n"
		"Upgrade: websocket\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n",
		false);
}

static void
request_keeps_what_says_where_it_ends(void **state)
{
	(void)state;
	forward_request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
			"Connection: close, host ,content-length\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
			"Connection: close\r\n\r\n",
			false);
	forward_request("POST / HTTP/1.1\r\nHost: a\r\n"
			"Transfer-Encoding: chunked\r\n"
			"Connection: transfer-encoding\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\n"
			"Transfer-Encoding: chunked\r\n"
			"Connection: close\r\n\r\n",
			false);
}

static void
request_asks_for_another_protocol_in_both_headers(void **state)
{
	(void)state;
	forward_request("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
			"Connection: keep-alive, Upgrade\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
			"Connection: Upgrade\r\n\r\n",
			true);
}

/* Forwards a request with so many headers, and words in its headers
   Connection. */
static int
forward_many(size_t headers, size_t words)
{
	own(buf) struct buf old = BUF_INIT(HEAD_MAX);
	own(buf) struct buf out = BUF_INIT(2 * HEAD_MAX);
	struct http_head h;
	bool upgrades;

	assert_int_equal(buf_addf(&old, "GET / HTTP/1.1\r\nHost: a\r\n"), 0);
	/* The words are in two headers. */
	assert_int_equal(buf_addf(&old, "Connection: w\r\nConnection:"), 0);
	for (size_t i = 1; i < words; i++)
		assert_int_equal(buf_addf(&old, " ,w"), 0);
	for (size_t i = 3; i < headers; i++)
		assert_int_equal(buf_addf(&old, "\r\nv:"), 0);
	assert_int_equal(buf_addf(&old, "\r\n\r\n"), 0);
	assert_int_equal(http_head_read(old.data, old.len, &h), HEAD_NAME);
	return http_forward_request(&out, old.data, &h, secrets, &upgrades);
}

static void
request_with_too_many_headers_is_bad(void **state)
{
	(void)state;
	assert_int_equal(forward_many(FORWARD_HEADERS_MAX, FORWARD_WORDS_MAX),
			 0);
	assert_int_equal(forward_many(FORWARD_HEADERS_MAX + 1, 1), -1);
	assert_int_equal(forward_many(3, FORWARD_WORDS_MAX + 1), -1);
	assert_int_equal(forward_many(3900, 5), -1);
}

/* Feeds a reply in pieces of `step` bytes, and then checks what became of
   it. */
static enum http_forward
forward_reply(const char *bytes, size_t len, size_t step, bool upgrades,
	      struct buf *out, int *status)
{
	own(buf) struct buf in = BUF_INIT(2 * HEAD_MAX);
	enum http_forward f = FORWARD_MORE;

	out->len = 0;
	for (size_t at = 0; at < len && f == FORWARD_MORE; at += step) {
		size_t n = len - at < step ? len - at : step;

		assert_int_equal(buf_add(&in, bytes + at, n), 0);
		f = http_forward_reply(&in, out, upgrades, status);
		/* The caller forwards the rest as it is. */
		if (f == FORWARD_REPLY || f == FORWARD_SWITCH)
			assert_int_equal(
				buf_add(out, bytes + at + n, len - at - n), 0);
	}
	return f;
}

static void
check_reply(const char *bytes, bool upgrades, enum http_forward expected,
	    int expected_status, const char *forwarded)
{
	static const size_t steps[] = { 1, 2, 7, 100000 };
	own(buf) struct buf out = BUF_INIT(4 * HEAD_MAX);
	int status = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		assert_int_equal(forward_reply(bytes, strlen(bytes), steps[i],
					       upgrades, &out, &status),
				 expected);
		if (!forwarded)
			continue;
		assert_int_equal(status, expected_status);
		assert_string_equal(buf_text(&out), forwarded);
	}
}

static void
reply_is_forwarded_with_the_end_of_its_connection(void **state)
{
	(void)state;
	check_reply("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhi",
		    false, FORWARD_REPLY, 200,
		    "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		    "Connection: keep-alive\r\n\r\nhi");
	check_reply("HTTP/1.0 404\nX: 1\n\n", true, FORWARD_REPLY, 404,
		    "HTTP/1.0 404\r\nConnection: close\r\nX: 1\n\n");
	check_reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: a\r\n"
		    "\r\nHTTP/1.1 204 \r\n\r\n",
		    false, FORWARD_REPLY, 204,
		    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: a\r\n"
		    "\r\nHTTP/1.1 204 \r\nConnection: close\r\n\r\n");
}

static void
reply_switches_only_if_the_request_asked(void **state)
{
	static const char reply[] = "HTTP/1.1 101 Switching Protocols\r\n"
				    "Connection: Upgrade\r\n\r\n\1\2";

	(void)state;
	check_reply(reply, true, FORWARD_SWITCH, 101, reply);
	check_reply(reply, false, FORWARD_BAD, 0, NULL);
}

static void
reply_that_is_not_http_is_bad(void **state)
{
	static const char *const rows[] = {
		"SSH-2.0-x\r\n",	"\r\n",
		"HTTP/2 200 OK\r\n",	"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n", "HTTP/1.1 099 x\r\n\r\n",
		"HTTP/1.1  200\r\n",	"HTTP/1.1 200 a\rb\r\n\r\n",
		"HTTP/1.2 200 OK\r\n",
	};
	static const char nul[] = "HTTP/1.\0 200 OK\r\n\r\n";
	own(buf) struct buf out = BUF_INIT(HEAD_MAX);
	int status;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_reply(rows[i], true, FORWARD_BAD, 0, NULL);
	assert_int_equal(
		forward_reply(nul, sizeof(nul) - 1, 100, true, &out, &status),
		FORWARD_BAD);
	check_reply("HTTP/1.1 200", true, FORWARD_MORE, 0, NULL);
	check_reply("HTTP/1.1 100 x\r\nY: z", true, FORWARD_MORE, 0, NULL);
}

static void
reply_without_a_first_line_is_bounded(void **state)
{
	static char endless[3 * HEAD_MAX];
	own(buf) struct buf out = BUF_INIT(4 * HEAD_MAX);
	int status;

	(void)state;
	memset(endless, 'a', sizeof(endless));
	memcpy(endless, "HTTP/1.1 200 ", 13);
	assert_int_equal(forward_reply(endless, sizeof(endless), 1000, false,
				       &out, &status),
			 FORWARD_BAD);
	memcpy(endless, "HTTP/1.1 100 \r\n", 15);
	assert_int_equal(forward_reply(endless, sizeof(endless), 1000, false,
				       &out, &status),
			 FORWARD_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			request_loses_secrets_and_headers_of_its_connection),
		cmocka_unit_test(request_keeps_what_says_where_it_ends),
		cmocka_unit_test(
			request_asks_for_another_protocol_in_both_headers),
		cmocka_unit_test(request_with_too_many_headers_is_bad),
		cmocka_unit_test(
			reply_is_forwarded_with_the_end_of_its_connection),
		cmocka_unit_test(reply_switches_only_if_the_request_asked),
		cmocka_unit_test(reply_that_is_not_http_is_bad),
		cmocka_unit_test(reply_without_a_first_line_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
