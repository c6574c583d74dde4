#include "base/net/address.h"

#include <arpa/inet.h>
#include <string.h>

/* The first matching row decides. Source: IANA's registries of special
   addresses. */
static const struct {
	unsigned char first[4];
	unsigned bits;
	enum address_class class;
} v4[] = {
	{ { 0 }, 8, ADDRESS_NEVER },
	{ { 10 }, 8, ADDRESS_PRIVATE },
	{ { 100, 100, 100, 200 }, 32, ADDRESS_NEVER }, /* metadata */
	{ { 100, 64 }, 10, ADDRESS_PRIVATE },
	{ { 127 }, 8, ADDRESS_NEVER },
	{ { 168, 63, 129, 16 }, 32, ADDRESS_NEVER }, /* metadata */
	{ { 169, 254 }, 16, ADDRESS_NEVER },
	{ { 172, 16 }, 12, ADDRESS_PRIVATE },
	{ { 192, 0, 0 }, 24, ADDRESS_NEVER },
	{ { 192, 0, 2 }, 24, ADDRESS_NEVER },
	{ { 192, 88, 99 }, 24, ADDRESS_NEVER },
	{ { 192, 168 }, 16, ADDRESS_PRIVATE },
	{ { 198, 18 }, 15, ADDRESS_NEVER },
	{ { 198, 51, 100 }, 24, ADDRESS_NEVER },
	{ { 203, 0, 113 }, 24, ADDRESS_NEVER },
	{ { 224 }, 3, ADDRESS_NEVER },
};

/* For IPv6 the default is the opposite: an address in no row is unassigned. */
static const struct {
	unsigned char first[16];
	unsigned bits;
	enum address_class class;
} v6[] = {
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_NEVER },
	{ { 0x20, 0x01, 0x00 }, 23, ADDRESS_NEVER }, /* Teredo, ORCHID */
	{ { 0x20, 0x02 }, 16, ADDRESS_NEVER }, /* contains an IPv4 address */
	{ { 0x3f, 0xff, 0x00 }, 20, ADDRESS_NEVER },
	/* Metadata services, fd00:ec2::254 and fd20:ce::254. */
	{ { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128, ADDRESS_NEVER },
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128, ADDRESS_NEVER },
	{ { 0xfc }, 7, ADDRESS_PRIVATE },
	{ { 0x20 }, 3, ADDRESS_PUBLIC },
};

static bool
is_in(const unsigned char *bytes, const unsigned char *first, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(bytes, first, whole) != 0)
		return false;
	return !rest || (bytes[whole] ^ first[whole]) >> (8 - rest) == 0;
}

enum address_class
address_class(const struct address *a)
{
	for (size_t i = 0; !a->is_v6 && i < ARRAY_LEN(v4); i++)
		if (is_in(a->bytes, v4[i].first, v4[i].bits))
			return v4[i].class;
	for (size_t i = 0; a->is_v6 && i < ARRAY_LEN(v6); i++)
		if (is_in(a->bytes, v6[i].first, v6[i].bits))
			return v6[i].class;
	return a->is_v6 ? ADDRESS_NEVER : ADDRESS_PUBLIC;
}

struct address
address_v4(in_addr_t address)
{
	struct address a = { 0 };

	memcpy(a.bytes, &address, sizeof(address));
	return a;
}

socklen_t
address_socket(const struct address *a, uint16_t port,
	       struct sockaddr_storage *out)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	*out = (struct sockaddr_storage){ 0 };
	if (a->is_v6) {
		memcpy(&six.sin6_addr, a->bytes, 16);
		memcpy(out, &six, sizeof(six));
		return sizeof(six);
	}
	memcpy(&four.sin_addr, a->bytes, 4);
	memcpy(out, &four, sizeof(four));
	return sizeof(four);
}

struct address
address_of_socket(const struct sockaddr_storage *s, uint16_t *port)
{
	struct address a = { .is_v6 = s->ss_family == AF_INET6 };
	const struct sockaddr_in6 *six = (const void *)s;
	const struct sockaddr_in *four = (const void *)s;

	*port = ntohs(a.is_v6 ? six->sin6_port : four->sin_port);
	if (a.is_v6)
		memcpy(a.bytes, &six->sin6_addr, 16);
	else
		memcpy(a.bytes, &four->sin_addr, 4);
	return a;
}

int
address_read(const char *text, struct address *out)
{
	*out = (struct address){ 0 };
	if (inet_pton(AF_INET, text, out->bytes) == 1)
		return 0;
	out->is_v6 = true;
	return inet_pton(AF_INET6, text, out->bytes) == 1 ? 0 : -1;
}

void
address_show(const struct address *a, char out[ADDRESS_TEXT])
{
	/* Cannot fail: ADDRESS_TEXT fits any address. */
	inet_ntop(a->is_v6 ? AF_INET6 : AF_INET, a->bytes, out, ADDRESS_TEXT);
}

bool
address_equal(const struct address *a, const struct address *b)
{
	return address_is_in(a, b, a->is_v6 ? 128 : 32);
}

bool
address_is_in(const struct address *a, const struct address *net, unsigned bits)
{
	return a->is_v6 == net->is_v6 && is_in(a->bytes, net->bytes, bits);
}
