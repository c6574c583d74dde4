/* http_head: the host of a request. */
#include "http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum head
read_text(const char *text, char name[HOST_NAME_SIZE])
{
	return http_head_read(text, strlen(text), 80, name);
}

static void
the_one_host_header_is_the_name(void **state)
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
		char name[HOST_NAME_SIZE];

		if (read_text(rows[i], name) != HEAD_NAME)
			fail_msg("no name in %s", rows[i]);
		assert_string_equal(name, "a.example");
	}
}

static void
what_two_could_read_in_two_ways_is_bad(void **state)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/1.1\nHost: a.example\n\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\n evil\r\n\r\n",
		"GET / HTTP/1.1\r\n Host: a.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example:080\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example@b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example, b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\rX: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET http://b/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"CONNECT b:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: a.example\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET /\tHTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n",
		"GET /\r\nHost: a.example\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"\x16\x03\x01\n",
	};
	char name[HOST_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (read_text(rows[i], name) != HEAD_BAD)
			fail_msg("not bad: %s", rows[i]);
	assert_int_equal(http_head_read("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
					31, 80, name),
			 HEAD_BAD);
}

static void
a_head_is_waited_for_up_to_its_cap(void **state)
{
	static const char whole[] = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
	static char endless[HEAD_MAX];
	char name[HOST_NAME_SIZE];

	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		assert_int_equal(http_head_read(whole, n, 80, name), HEAD_MORE);
	memset(endless, 'a', sizeof(endless));
	assert_int_equal(http_head_read(endless, HEAD_MAX - 1, 80, name),
			 HEAD_MORE);
	assert_int_equal(http_head_read(endless, HEAD_MAX, 80, name), HEAD_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_host_header_is_the_name),
		cmocka_unit_test(what_two_could_read_in_two_ways_is_bad),
		cmocka_unit_test(a_head_is_waited_for_up_to_its_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
