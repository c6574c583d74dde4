/*
 * host_rule: an entry of network_allow, read.
 *
 *	HOST:PORT[:WORD[,WORD...]]
 *
 * HOST is a name, "*." before a name of two labels or more (every name below
 * it), or an IPv4 address. Words: tls (the hello must name HOST), plain (the
 * HTTP head must), tcp (no look at the bytes), private (the name may lead to a
 * private address). Without a word port 443 of a name is tls, 80 is plain.
 */
#ifndef REMIT_HOST_RULE_H
#define REMIT_HOST_RULE_H

#include <stdint.h>

#include "error.h"
#include "host_name.h"
#include "list.h"

/* Entries of one policy; each may need a listener. */
#define HOST_RULES_MAX 64

enum host_kind {
	HOST_TCP,
	HOST_TLS,
	HOST_PLAIN,
};

struct host_rule {
	char name[HOST_NAME_SIZE]; /* "" for an address */
	bool is_below;		   /* names below it, not itself */
	uint32_t address;	   /* of an address, in network order */
	uint16_t port;
	enum host_kind kind;
	bool may_be_private;
};

struct host_rules {
	struct host_rule rows[HOST_RULES_MAX];
	size_t count;
};

int host_rule_read(const char *text, struct host_rule *out,
		   struct remit_error *err) must_check;
int host_rules_read(const struct list *texts, struct host_rules *out,
		    struct remit_error *err) must_check;

/* The first entry for this name or address at any port, at this port; or
   NULL. */
const struct host_rule *host_rules_name(const struct host_rules *all,
					const char *name);
const struct host_rule *host_rules_name_port(const struct host_rules *all,
					     const char *name, uint16_t port);
const struct host_rule *host_rules_address_port(const struct host_rules *all,
						uint32_t address,
						uint16_t port);

#endif
