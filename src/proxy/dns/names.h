/*
 * names: the names that a jail has asked for, each with an address of its own
 * inside, by which a connection tells whom it is for; and those that this
 * machine knows.
 */
#ifndef REMIT_NAMES_H
#define REMIT_NAMES_H

#include "base/net/address.h"
#include "base/net/host_name.h"
#include "policy/rules/host_rule.h"

/* One more is refused: else names could carry bytes without end. */
#define NAMES_MAX 1024

enum name_state {
	NAME_NEW,
	NAME_PENDING, /* a resolver was asked, and has not answered */
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
struct name *names_get(struct names *all, const char *host);
/* The address that it has inside, and the name of such an address. */
in_addr_t names_inside(const struct names *all, const struct name *n);
struct name *names_find_inside(struct names *all, const struct address *a);

/*
 * How this machine finds hosts by name: its resolvers (resolv.conf(5)) and its
 * own list (hosts(5)). Read before the proxy locks itself, since it opens
 * nothing afterwards.
 */

#define SITE_RESOLVERS 3
#define SITE_HOSTS     64

struct site_host {
	char name[HOST_NAME_SIZE];
	struct address address;
};

struct site_names {
	struct address resolvers[SITE_RESOLVERS];
	size_t resolver_count;
	struct site_host hosts[SITE_HOSTS];
	size_t host_count;
};

/* What cannot be read is as if it were empty; of hosts only those that the
   rules name, or all (NULL). */
void site_names_read(struct site_names *out, const struct host_rules *rules);

/* For tests: the same from text. It is changed. */
void site_names_resolvers(struct site_names *out, char *text);
void site_names_hosts(struct site_names *out, char *text,
		      const struct host_rules *rules);

/* Add the addresses that the list has for a name. */
void site_names_find(const struct site_names *s, const char *name,
		     struct addresses *out);

#endif
