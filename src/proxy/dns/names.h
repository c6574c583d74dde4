/*
 * names: the names that a jail has looked up, each with its address inside the
 * jail, by which a connection identifies its host; and the names that this
 * machine knows.
 */
#ifndef REMIT_NAMES_H
#define REMIT_NAMES_H

#include "base/net/address.h"
#include "base/net/host_name.h"
#include "policy/rules/host_rule.h"

/* Further names are refused: otherwise look-ups could carry data without
   limit. */
#define NAMES_MAX 1024

enum name_state {
	NAME_NEW,
	NAME_PENDING, /* a resolver was asked, and has not answered yet */
	NAME_KNOWN,
	NAME_LOST, /* it has no address */
};

struct name {
	char host[HOST_NAME_SIZE];
	enum name_state state;
	uint64_t until_us; /* until then the result is used */
	struct addresses addresses;
};

struct names {
	struct name rows[NAMES_MAX];
	size_t count;
};

/* Get the row of this name, or a new one. Returns NULL if there is no space. */
struct name *names_get(struct names *all, const char *host);
/* The address of a name inside the jail, and the name of such an address. */
in_addr_t names_inside(const struct names *all, const struct name *n);
struct name *names_find_inside(struct names *all, const struct address *a);

/*
 * How this machine resolves names: its resolvers (resolv.conf(5)) and its own
 * list (hosts(5)). They are read before the proxy locks itself, since it cannot
 * open files afterwards.
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

/* Read both files. One that cannot be read counts as empty. Hosts that match
   the rules come first, and the others as far as there is space. */
void site_names_read(struct site_names *out, const struct host_rules *rules);

/* For tests: like site_names_read(), from text, which they change. */
void site_names_resolvers(struct site_names *out, char *text);
void site_names_hosts(struct site_names *out, char *text,
		      const struct host_rules *rules);

/* Add this machine's own addresses for a name. */
void site_names_find(const struct site_names *s, const char *name,
		     struct addresses *out);

#endif
