/* http_ask: whom a request to a proxy is for. */
#include "http/ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int
ask(const char *text, struct http_ask *a)
{
	struct http_head h;

	if (http_head_read(text, strlen(text), &h) != HEAD_NAME)
		return -1;
	return http_ask_read(&h, a);
}

static void
a_tunnel_names_a_host_and_a_port(void **state)
{
	static const struct {
		const char *text, *host;
	} rows[] = {
		{ "CONNECT a.example:443 HTTP/1.1\r\nHost: "
		  "a.example:443\r\n\r\n",
		  "a.example" },
		{ "CONNECT A.example.:443 HTTP/1.0\r\n\r\n", "a.example" },
		{ "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  "a.example" },
		{ "CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n", "10.0.0.1" },
		{ "CONNECT [2001:DB8::1]:443 HTTP/1.1\r\n\r\n", "2001:db8::1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_ask a;

		if (ask(rows[i].text, &a) < 0)
			fail_msg("bad: %s", rows[i].text);
		assert_true(a.is_tunnel);
		assert_string_equal(a.host, rows[i].host);
		assert_int_equal(a.port, 443);
	}
}

static void
a_request_has_a_url(void **state)
{
	static const struct {
		const char *url, *host, *target;
		uint16_t port;
	} rows[] = {
		{ "http://a.example/x?y=http://b/", "a.example",
		  "/x?y=http://b/", 80 },
		{ "HTTP://A.example.:8080/", "a.example", "/", 8080 },
		{ "http://a.example", "a.example", "/", 80 },
		{ "http://10.0.0.1:81/z", "10.0.0.1", "/z", 81 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[256];
		struct http_ask a;

		snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].url,
			 rows[i].host);
		if (ask(text, &a) < 0)
			fail_msg("bad: %s", text);
		assert_false(a.is_tunnel);
		assert_string_equal(a.host, rows[i].host);
		assert_int_equal(a.port, rows[i].port);
		assert_int_equal(a.target.len, strlen(rows[i].target));
		assert_memory_equal(a.target.text, rows[i].target,
				    a.target.len);
	}
}

static void
what_names_nobody_or_two_is_bad(void **state)
{
	static const char *const rows[] = {
		"CONNECT a.example HTTP/1.1\r\n\r\n",
		"CONNECT a.example:0 HTTP/1.1\r\n\r\n",
		"CONNECT a.example:65536 HTTP/1.1\r\n\r\n",
		"CONNECT a.example:443@b:443 HTTP/1.1\r\n\r\n",
		"CONNECT a@b:443 HTTP/1.1\r\n\r\n",
		"CONNECT a.example:443/ HTTP/1.1\r\n\r\n",
		"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
		"CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
		"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
		"CONNECT ::1:443 HTTP/1.1\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: b:443\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a:80\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
		"CONNECT a:443\r\nHost: b HTTP/1.1\r\n\r\n",
		"CONNECT http://a:443 HTTP/1.1\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\n\r\n",
		"GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
	};
	struct http_ask a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (ask(rows[i], &a) == 0)
			fail_msg("taken: %s", rows[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunnel_names_a_host_and_a_port),
		cmocka_unit_test(a_request_has_a_url),
		cmocka_unit_test(what_names_nobody_or_two_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
