/* dns: questions from a jail, and the answers of resolvers. */
#include "proxy/dns/dns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

/* A question for the A record of api.example.com, followed by options. */
static const char asked[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\1"
			    "\3Api\7example\3com\0\0\1\0\1"
			    "\0\0\x29\x10\0\0\0\0\0\0\0";
#define ASKED (sizeof(asked) - 1)

static void
question_name_is_read_in_canonical_form(void **state)
{
	struct dns_question q;

	(void)state;
	assert_int_equal(dns_question_read(asked, ASKED, &q), 0);
	assert_true(q.has_name);
	assert_string_equal(q.name, "api.example.com");
	assert_int_equal(q.id, 0x1234);
	assert_int_equal(q.type, DNS_A);
	assert_int_equal(q.len, ASKED - 11);
}

/* Each row follows a header that announces one question. */
static void
odd_question_has_no_name(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "\3a.b\1c\0\0\1\0\1", 11 },  /* a dot in a label */
		{ "\3a\0b\1c\0\0\1\0\1", 11 }, /* NUL */
		{ "\3a\rb\1c\0\0\1\0\1", 11 }, /* CR */
		{ "\1a\xc0\x0c\0\1\0\1", 8 },  /* a pointer */
		{ "\0\0\1\0\1", 5 },	       /* the root */
		{ "\3abc\0\0\1\0\3", 9 },      /* class CHAOS */
		{ "\3abc\0\0\1\0", 8 },	       /* cut */
		{ "\x3f"
		  "abc",
		  4 }, /* cut in a label */
		{ "\003127\0010\0010\0011\0\0\1\0\1", 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char bytes[64] = "\0\1\1\0\0\1\0\0\0\0\0\0";
		struct dns_question q;

		memcpy(bytes + 12, rows[i].bytes, rows[i].len);
		assert_int_equal(dns_question_read(bytes, 12 + rows[i].len, &q),
				 0);
		if (q.has_name)
			fail_msg("row %zu is a name: %s", i, q.name);
	}
}

static void
message_that_is_not_a_question_is_not_answered(void **state)
{
	char bytes[ASKED];
	struct dns_question q;

	(void)state;
	memcpy(bytes, asked, ASKED);
	for (size_t n = 0; n < 12; n++)
		assert_int_equal(dns_question_read(bytes, n, &q), -1);
	bytes[2] |= (char)0x80; /* an answer */
	assert_int_equal(dns_question_read(bytes, ASKED, &q), -1);
	memcpy(bytes, asked, ASKED);
	bytes[5] = 2; /* two questions */
	assert_int_equal(dns_question_read(bytes, ASKED, &q), 0);
	assert_false(q.has_name);
	memcpy(bytes, asked, ASKED);
	bytes[2] = 0x28; /* an update */
	assert_int_equal(dns_question_read(bytes, ASKED, &q), 0);
	assert_false(q.has_name);
}

static void
written_answer_can_be_read_back(void **state)
{
	in_addr_t address = htonl(0xc6120100);
	struct addresses found = { .count = 0 };
	enum dns_code code;
	char out[DNS_MAX];
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(dns_question_read(asked, ASKED, &q), 0);
	n = dns_answer_write(out, &q, asked, DNS_OK, &address);
	assert_int_equal(dns_answer_read(out, n, 0x1234, "api.example.com",
					 DNS_A, &found, &code),
			 0);
	assert_int_equal(code, DNS_OK);
	assert_int_equal(found.count, 1);
	assert_memory_equal(found.rows[0].bytes, &address, 4);
	n = dns_answer_write(out, &q, asked, DNS_NO_SUCH_NAME, NULL);
	assert_int_equal(dns_answer_read(out, n, 0x1234, "api.example.com",
					 DNS_A, &found, &code),
			 0);
	assert_int_equal(code, DNS_NO_SUCH_NAME);
	assert_int_equal(found.count, 1);
}

static void
answer_to_another_question_is_rejected(void **state)
{
	in_addr_t address = htonl(0xc6120100);
	struct addresses found = { .count = 0 };
	enum dns_code code;
	char out[DNS_MAX];
	struct dns_question q;
	size_t n;

	(void)state;
	assert_int_equal(dns_question_read(asked, ASKED, &q), 0);
	n = dns_answer_write(out, &q, asked, DNS_OK, &address);
	assert_int_equal(dns_answer_read(out, n, 0x1235, "api.example.com",
					 DNS_A, &found, &code),
			 -1);
	assert_int_equal(dns_answer_read(out, n, 0x1234, "api.example.org",
					 DNS_A, &found, &code),
			 -1);
	assert_int_equal(dns_answer_read(out, n, 0x1234, "api.example.com",
					 DNS_AAAA, &found, &code),
			 -1);
	/* A question is not an answer. */
	assert_int_equal(dns_answer_read(asked, ASKED, 0x1234,
					 "api.example.com", DNS_A, &found,
					 &code),
			 -1);
	for (size_t i = 0; i < ASKED - 11; i++)
		assert_int_equal(dns_answer_read(out, i, 0x1234,
						 "api.example.com", DNS_A,
						 &found, &code),
				 -1);
	assert_int_equal(found.count, 0);
}

static void
written_question_can_be_read_back(void **state)
{
	char out[DNS_MAX], longest[HOST_NAME_SIZE];
	struct dns_question q;
	size_t n;

	(void)state;
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 63; i < sizeof(longest); i += 64)
		longest[i] = '.';
	longest[sizeof(longest) - 1] = '\0';
	n = dns_question_write(out, 7, longest, DNS_AAAA);
	assert_true(n <= sizeof(out));
	assert_int_equal(dns_question_read(out, n, &q), 0);
	assert_true(q.has_name);
	assert_string_equal(q.name, longest);
	assert_int_equal(q.type, DNS_AAAA);
	n = dns_answer_write(out, &q, out, DNS_OK, NULL);
	assert_true(n <= sizeof(out));
}

/* An answer that uses another name (CNAME) and has more addresses than are
   read. */
static void
answer_addresses_are_read_up_to_the_cap(void **state)
{
	char out[DNS_MAX];
	struct addresses found = { .count = 0 };
	enum dns_code code;
	size_t n = dns_question_write(out, 9, "a.example", DNS_A) - 11;
	static const char cname[] = "\xc0\x0c\0\5\0\1\0\0\0\1\0\4\1b\xc0\x0e";
	static const char a[] = "\xc0\x1b\0\1\0\1\0\0\0\1\0\4\1\1\1";

	(void)state;
	out[2] |= (char)0x80;
	out[11] = 0;
	memcpy(out + n, cname, sizeof(cname) - 1);
	n += sizeof(cname) - 1;
	for (int i = 0; i < ADDRESSES_MAX + 3; i++) {
		memcpy(out + n, a, sizeof(a) - 1);
		n += sizeof(a) - 1;
		out[n++] = (char)i;
	}
	out[7] = ADDRESSES_MAX + 4;
	assert_int_equal(
		dns_answer_read(out, n, 9, "a.example", DNS_A, &found, &code),
		0);
	assert_int_equal(found.count, ADDRESSES_MAX);
	assert_int_equal(found.rows[1].bytes[3], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_name_is_read_in_canonical_form),
		cmocka_unit_test(odd_question_has_no_name),
		cmocka_unit_test(
			message_that_is_not_a_question_is_not_answered),
		cmocka_unit_test(written_answer_can_be_read_back),
		cmocka_unit_test(answer_to_another_question_is_rejected),
		cmocka_unit_test(written_question_can_be_read_back),
		cmocka_unit_test(answer_addresses_are_read_up_to_the_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
