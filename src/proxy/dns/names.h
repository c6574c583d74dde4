/*
 * names: the names that a jail has asked for, each with an address of its own
 * inside, by which a connection tells whom it is for.
 */
#ifndef REMIT_NAMES_H
#define REMIT_NAMES_H

#include "base/net/address.h"
#include "base/net/host_name.h"

/* One more is refused: else names could carry bytes without end. */
#define NAMES_MAX 1024

enum name_state {
	NAME_NEW,
	NAME_ASKED, /* a resolver was asked, and has not answered */
	NAME_KNOWN,
	NAME_LOST, /* it leads nowhere */
};

struct name {
	char host[HOST_NAME_SIZE];
	enum name_state state;
	uint64_t until_us; /* it is known or lost until then */
	struct addresses addresses;
};

struct names {
	struct name rows[NAMES_MAX];
	size_t count;
};

/* The row of this name, a new one if need be; NULL if there is no room. */
struct name *names_take(struct names *all, const char *host);
/* The address that it has inside, and the name of such an address. */
in_addr_t names_inside(const struct names *all, const struct name *n);
struct name *names_find_inside(struct names *all, const struct address *a);

#endif
