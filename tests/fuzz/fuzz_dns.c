/*
 * A query from a jail and an answer from a resolver: each accepted name is a
 * valid host name, and an answer that is written reads back.
 */
#include "fuzz.h"
#include "names.h"
#include "proxy/dns/dns.h"

static void
check_question(const char *bytes, size_t size)
{
	char out[DNS_MAX];
	in_addr_t address = 0x01020304;
	struct addresses found = { .count = 0 };
	struct dns_question q;
	enum dns_code code;
	size_t n;

	if (dns_question_read(bytes, size, &q) < 0)
		return;
	must(q.len <= size && q.len >= 12);
	n = dns_answer_write(out, &q, bytes, DNS_OK, &address);
	must(n <= sizeof(out));
	if (!q.has_name)
		return;
	check_name(q.name);
	if (q.type != DNS_A)
		return;
	must(dns_answer_read(out, n, q.id, q.name, DNS_A, &found, &code) == 0);
	must(found.count == 1 && !memcmp(found.rows[0].bytes, &address, 4));
}

static void
check_answer(const char *bytes, size_t size, enum dns_type type)
{
	struct addresses found = { .count = 3 };
	enum dns_code code;

	if (size < 2 ||
	    dns_answer_read(bytes, size,
			    (uint16_t)((unsigned char)bytes[0] << 8 |
				       (unsigned char)bytes[1]),
			    "a.example", type, &found, &code) < 0)
		return;
	must(found.count >= 3 && found.count <= ADDRESSES_MAX);
	for (size_t i = 3; i < found.count; i++)
		must(found.rows[i].is_v6 == (type == DNS_AAAA));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	if (size > DNS_READ)
		return 0;
	check_question(bytes, size);
	check_answer(bytes, size, DNS_A);
	check_answer(bytes, size, DNS_AAAA);
	return 0;
}
