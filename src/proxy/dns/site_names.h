/*
 * site_names: how this machine finds hosts by name: its resolvers
 * (resolv.conf(5)) and its own list (hosts(5)). Read before the proxy locks
 * itself, since it opens nothing afterwards.
 */
#ifndef REMIT_SITE_NAMES_H
#define REMIT_SITE_NAMES_H

#include "base/net/address.h"
#include "policy/rules/host_rule.h"

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
