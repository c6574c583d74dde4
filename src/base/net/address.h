/*
 * address: IPv4 and IPv6 addresses, and whose they are.
 */
#ifndef REMIT_ADDRESS_H
#define REMIT_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/own.h"

struct address {
	bool is_v6;
	unsigned char bytes[16]; /* the first 4 for IPv4 */
};

/* The most that one name is followed to. */
#define ADDRESSES_MAX 8

struct addresses {
	struct address rows[ADDRESSES_MAX];
	size_t count;
};

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_PRIVATE, /* of a site: for entries that say so */
	ADDRESS_NEVER,	 /* this machine, its link (metadata), nobody */
};

enum address_class address_class(const struct address *a);

struct address address_v4(in_addr_t address);

/* The longest text of one, with its NUL (INET6_ADDRSTRLEN). */
#define ADDRESS_TEXT 46

/* Four decimal numbers, or IPv6: inet_pton(3). -1 if it is neither. */
int address_read(const char *text, struct address *out) must_check;
/* The one form in which it is compared and shown. */
void address_show(const struct address *a, char out[ADDRESS_TEXT]);

bool address_equal(const struct address *a, const struct address *b);
/* Of one family, and the first bits are the same. */
bool address_is_in(const struct address *a, const struct address *net,
		   unsigned bits);

/* For connect(2); returns the length. */
socklen_t address_socket(const struct address *a, uint16_t port,
			 struct sockaddr_storage *out);
/* The other way round. */
struct address address_of_socket(const struct sockaddr_storage *s,
				 uint16_t *port);

#endif
