/* tls_hello: the server name in a ClientHello. */
#include "http/tls_hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A hello in records of at most `piece` bytes. */
struct hello {
	char bytes[HEAD_MAX + 4096];
	size_t len;
};

static char *
put_number(char *at, size_t value, size_t bytes)
{
	for (size_t i = bytes; i--;)
		*at++ = (char)(value >> (8 * i) & 0xff);
	return at;
}

static char *
put_name(char *at, const char *name, size_t len)
{
	at = put_number(at, 0, 2);
	at = put_number(at, len + 5, 2);
	at = put_number(at, len + 3, 2);
	at = put_number(at, 0, 1);
	at = put_number(at, len, 2);
	memcpy(at, name, len);
	return at + len;
}

static void
make_hello(struct hello *h, const char *extensions, size_t len, size_t piece)
{
	char body[HEAD_MAX + 512], *at = body;
	size_t all, done = 0;

	at = put_number(at, 1, 1);
	at = put_number(at, 2 + 32 + 1 + 2 + 2 + 2 + 2 + len, 3);
	at = put_number(at, 0x0303, 2);
	memset(at, 7, 32);
	at += 32;
	at = put_number(at, 0, 1);	/* session */
	at = put_number(at, 2, 2);	/* ciphers */
	at = put_number(at, 0x1301, 2); /* one of them */
	at = put_number(at, 0x100, 2);	/* compression: none */
	at = put_number(at, len, 2);
	memcpy(at, extensions, len);
	all = (size_t)(at - body) + len;
	for (at = h->bytes; done < all; done += piece) {
		size_t n = all - done < piece ? all - done : piece;

		at = put_number(at, 22, 1);
		at = put_number(at, 0x0301, 2);
		at = put_number(at, n, 2);
		memcpy(at, body + done, n);
		at += n;
	}
	h->len = (size_t)(at - h->bytes);
}

static struct hello
make_named_hello(const char *name, size_t piece)
{
	char extensions[400], *at = put_number(extensions, 0x002b0003, 4);
	struct hello h;

	at = put_number(at, 0x020304, 3); /* supported_versions */
	at = put_name(at, name, strlen(name));
	make_hello(&h, extensions, (size_t)(at - extensions), piece);
	return h;
}

static void
server_name_is_read_whatever_the_record_boundaries(void **state)
{
	static const size_t pieces[] = { 1, 3, 7, 64, 16384 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct hello h = make_named_hello("Api.Example.com", pieces[i]);
		char name[HOST_NAME_SIZE];

		assert_int_equal(tls_hello_read(h.bytes, h.len, name),
				 HEAD_NAME);
		assert_string_equal(name, "api.example.com");
		for (size_t n = 0; n < h.len; n++)
			assert_int_equal(tls_hello_read(h.bytes, n, name),
					 HEAD_MORE);
	}
}

static void
missing_repeated_or_encrypted_name_is_rejected(void **state)
{
	char e[400] = "", name[HOST_NAME_SIZE], *at;
	struct hello h;

	(void)state;
	make_hello(&h, e, 0, 16384);
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
	at = put_name(e, "a.example", 9);
	at = put_name(at, "a.example", 9);
	make_hello(&h, e, (size_t)(at - e), 16384);
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
	at = put_name(e, "a.example", 9);
	at = put_number(at, 0xfe0d0000, 4);
	make_hello(&h, e, (size_t)(at - e), 16384);
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
	at = put_name(e, "a\0.example", 10);
	make_hello(&h, e, (size_t)(at - e), 16384);
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
	at = put_name(e, "127.0.0.1", 9);
	make_hello(&h, e, (size_t)(at - e), 16384);
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
}

static void
inconsistent_lengths_are_rejected(void **state)
{
	(void)state;
	/* Increments and decrements each length, from that of the session
	   on. */
	for (size_t at = 5 + 4 + 34; at < 5 + 4 + 34 + 7; at++)
		for (int by = -1; by <= 1; by += 2) {
			struct hello h =
				make_named_hello("api.example.com", 16384);
			char name[HOST_NAME_SIZE];

			if (at == 47 || at == 46)
				continue; /* not a length */
			h.bytes[at] = (char)(h.bytes[at] + by);
			if (tls_hello_read(h.bytes, h.len, name) == HEAD_NAME &&
			    strcmp(name, "api.example.com") != 0)
				fail_msg("byte %zu: %s", at, name);
		}
}

static void
other_protocols_are_rejected_at_once_and_long_hellos_at_the_limit(void **state)
{
	static char big[HEAD_MAX];
	char name[HOST_NAME_SIZE];
	struct hello h = make_named_hello("api.example.com", 16384);

	(void)state;
	assert_int_equal(tls_hello_read("GET / HTTP", 10, name), HEAD_BAD);
	assert_int_equal(tls_hello_read("SSH-2.0-", 8, name), HEAD_BAD);
	h.bytes[5] = 2; /* a ServerHello */
	assert_int_equal(tls_hello_read(h.bytes, h.len, name), HEAD_BAD);
	/* A hello that announces more than the maximum length. */
	put_number(put_number(put_number(put_number(big, 22, 1), 0x0301, 2),
			      16000, 2),
		   1, 1);
	put_number(big + 6, HEAD_MAX, 3);
	assert_int_equal(tls_hello_read(big, 100, name), HEAD_BAD);
	/* An empty record. */
	put_number(put_number(put_number(big, 22, 1), 0x0301, 2), 0, 2);
	assert_int_equal(tls_hello_read(big, 5, name), HEAD_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			server_name_is_read_whatever_the_record_boundaries),
		cmocka_unit_test(
			missing_repeated_or_encrypted_name_is_rejected),
		cmocka_unit_test(inconsistent_lengths_are_rejected),
		cmocka_unit_test(
			other_protocols_are_rejected_at_once_and_long_hellos_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
