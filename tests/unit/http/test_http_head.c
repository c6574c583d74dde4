/* http_head: the host of a request, and the target of a request to a proxy. */
#include "http/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum head
read_text(const char *text, struct http_head *h)
{
	return http_head_read(text, strlen(text), h);
}

static void
host_is_the_value_of_the_single_host_header(void **state)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/1.1\r\nhOST:A.Example\r\n\r\nrest\r\n",
		("POST /x?y HTTP/1.0\r\nX: 1\r\nHost: a.example:80 \r\nY:\r\n"
		 "\r\n"),
		"OPTIONS * HTTP/1.1\r\nHost:\ta.example.\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_head h;

		if (read_text(rows[i], &h) != HEAD_NAME)
			fail_msg("no name in %s", rows[i]);
		assert_string_equal(h.host, "a.example");
		assert_int_equal(h.port, i == 2 ? 80 : 0);
	}
}

static void
ambiguous_head_is_rejected(void **state)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/1.1\nHost: a.example\n\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\n evil\r\n\r\n",
		"GET / HTTP/1.1\r\n Host: a.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:080\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example@b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example, b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 0x7f.0.0.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 0177.0.0.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 2130706433\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [127.0.0.1]\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: [a.example]\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:65536\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:+80\r\n\r\n",
		("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
		 "Content-Length: 1\r\n\r\n"),
		("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
		("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
		("POST / HTTP/1.1\r\nHost: a\r\n"
		 "Transfer-Encoding: gzip, chunked\r\n\r\n"),
		("POST / HTTP/1.1\r\nHost: a\r\n"
		 "Transfer-Encoding: xchunked\r\n\r\n"),
		("POST / HTTP/1.0\r\nHost: a\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
		("POST / HTTP/1.1\r\nHost: a\r\n"
		 "Content-Length: 99999999999999999999\r\n\r\n"),
		"GET / HTTP/2.0\r\nHost: a.example\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET /\tHTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n",
		"GET /\r\nHost: a.example\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"\x16\x03\x01\n",
	};
	struct http_head h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (read_text(rows[i], &h) != HEAD_BAD)
			fail_msg("not bad: %s", rows[i]);
	assert_int_equal(
		http_head_read("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 31, &h),
		HEAD_BAD);
}

static void
address_is_a_host_only_in_canonical_form(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} rows[] = {
		{ "127.0.0.1", "127.0.0.1", 0 },
		{ "127.0.0.1:8080", "127.0.0.1", 8080 },
		{ "[::1]", "::1", 0 },
		{ "[2001:DB8:0::1]:80", "2001:db8::1", 80 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[128];
		struct http_head h;

		snprintf(text, sizeof(text),
			 "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].text);
		assert_int_equal(read_text(text, &h), HEAD_NAME);
		assert_string_equal(h.host, rows[i].host);
		assert_int_equal(h.port, rows[i].port);
	}
}

static void
head_yields_method_target_port_and_framing(void **state)
{
	struct http_head h;

	(void)state;
	assert_int_equal(read_text("PUT http://a/x HTTP/1.1\r\nHost: a\r\n"
				   "Transfer-Encoding: Chunked\r\n\r\nbody",
				   &h),
			 HEAD_NAME);
	assert_memory_equal(h.method.text, "PUT", h.method.len);
	assert_memory_equal(h.target.text, "http://a/x", h.target.len);
	assert_true(h.is_chunked && !h.is_old && !h.is_ambiguous);
	assert_int_equal(read_text("GET / HTTP/1.0\r\nHost: a\r\nUpgrade: x\r\n"
				   "Content-Length: 12\r\n\r\n",
				   &h),
			 HEAD_NAME);
	assert_true(h.is_old && h.is_ambiguous && h.body_bytes == 12);
	assert_int_equal(h.len, 59);
	assert_int_equal(read_text("GET / HTTP/1.1\r\nHost: a\r\n"
				   "X-HTTP-Method-Override: PUT\r\n\r\n",
				   &h),
			 HEAD_NAME);
	assert_true(h.is_ambiguous);
}

static void
incomplete_head_is_awaited_up_to_its_limit(void **state)
{
	static const char whole[] = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
	static char endless[HEAD_MAX];
	struct http_head h;

	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		assert_int_equal(http_head_read(whole, n, &h), HEAD_MORE);
	memset(endless, 'a', sizeof(endless));
	assert_int_equal(http_head_read(endless, HEAD_MAX - 1, &h), HEAD_MORE);
	assert_int_equal(http_head_read(endless, HEAD_MAX, &h), HEAD_BAD);
}

/* ---- requests to a proxy ---- */

static int
read_proxy_request(const char *text, struct http_proxy_request *a)
{
	struct http_head h;

	if (http_head_read(text, strlen(text), &h) != HEAD_NAME)
		return -1;
	return http_proxy_request_read(&h, a);
}

static void
connect_request_names_host_and_port(void **state)
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
		struct http_proxy_request a;

		if (read_proxy_request(rows[i].text, &a) < 0)
			fail_msg("bad: %s", rows[i].text);
		assert_true(a.is_tunnel);
		assert_string_equal(a.host, rows[i].host);
		assert_int_equal(a.port, 443);
	}
}

static void
proxy_request_names_its_host_by_url(void **state)
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
		struct http_proxy_request a;

		snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].url,
			 rows[i].host);
		if (read_proxy_request(text, &a) < 0)
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
proxy_request_with_no_host_or_two_is_rejected(void **state)
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
	struct http_proxy_request a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (read_proxy_request(rows[i], &a) == 0)
			fail_msg("accepted: %s", rows[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_is_the_value_of_the_single_host_header),
		cmocka_unit_test(ambiguous_head_is_rejected),
		cmocka_unit_test(address_is_a_host_only_in_canonical_form),
		cmocka_unit_test(head_yields_method_target_port_and_framing),
		cmocka_unit_test(incomplete_head_is_awaited_up_to_its_limit),
		cmocka_unit_test(connect_request_names_host_and_port),
		cmocka_unit_test(proxy_request_names_its_host_by_url),
		cmocka_unit_test(proxy_request_with_no_host_or_two_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
