/*
 * address: IPv4 and IPv6 addresses, and whether they are public.
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

/* The maximum number of addresses that are used for one name. */
#define ADDRESSES_MAX 8

struct addresses {
	struct address rows[ADDRESSES_MAX];
	size_t count;
};

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_PRIVATE, /* of a site: only for policy entries with the word
			    "private" */
	ADDRESS_NEVER,	 /* this machine, its link (metadata services), or
			    unassigned */
};

enum address_class address_class(const struct address *a);

struct address address_v4(in_addr_t address);

/* The size of the longest text, with its NUL (INET6_ADDRSTRLEN). */
#define ADDRESS_TEXT 46

/* Parses an IPv4 address of four decimal numbers, or an IPv6 address
   (inet_pton(3)). Returns -1 if the text is neither. */
int address_read(const char *text, struct address *out) must_check;
/* Writes the normal form of an address, for comparing and showing. */
void address_show(const struct address *a, char out[ADDRESS_TEXT]);

bool address_equal(const struct address *a, const struct address *b);
/* Whether both are of one family and have the same first bits. */
bool address_is_in(const struct address *a, const struct address *net,
		   unsigned bits);

/* Converts for connect(2). Returns the length. */
socklen_t address_socket(const struct address *a, uint16_t port,
			 struct sockaddr_storage *out);
/* Converts back. */
struct address address_of_socket(const struct sockaddr_storage *s,
				 uint16_t *port);

#endif
