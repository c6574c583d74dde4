/*
 * host_rule: an entry of network_allow, read.
 *
 *	HOST:PORT[:WORD[,WORD...]]
 *
 * HOST is a name, "*." before a name of two labels or more (every name below
 * it), an IPv4 address, or an IPv6 address in brackets. Words:
 *
 *	tls, plain, tcp		the hello or the HTTP head must name HOST, or
 *				there is no look at the bytes; of a name port
 *				443 is tls and 80 is plain without a word
 *	private			the name may lead to a private address
 *	public			the address must be public, and not this
 *				machine's; names without private must be anyway
 *	methods=GET+HEAD	plain: requests with these, one a connection
 *	bytes=10M		both ways, in a run
 *	connections=5		in a run
 */
#ifndef REMIT_HOST_RULE_H
#define REMIT_HOST_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "base/net/address.h"
#include "base/net/host_name.h"

/* Entries of one policy; each may need a listener. */
#define HOST_RULES_MAX 64

/* With network_proxy: where clients find one inside, at 127.0.0.1. */
#define HOST_PROXY_ADDRESS "127.0.0.1"
#define HOST_PROXY_PORT	   3128

enum host_kind {
	HOST_TCP,
	HOST_TLS,
	HOST_PLAIN,
};

struct host_rule {
	char name[HOST_NAME_SIZE]; /* "" for an address */
	bool is_below;		   /* names below it, not itself */
	struct address address;	   /* if it is one */
	uint16_t port;
	enum host_kind kind;
	bool may_be_private;
	bool must_be_public; /* of an address; the proxy checks it again */
	unsigned methods;    /* bits of host_methods; 0: all there are */
	uint64_t most_bytes; /* 0: no cap of its own */
	uint64_t most_connections;
};

/* The methods that an entry can name; bit i is row i. */
#define HOST_METHODS 7
extern const char *const host_methods[HOST_METHODS];
/* The bit of a method, which is as it is written; 0 if it is none of them. */
unsigned host_method(const char *bytes, size_t len);

struct host_rules {
	struct host_rule rows[HOST_RULES_MAX];
	size_t count;
};

int host_rule_read(const char *text, struct host_rule *out,
		   struct remit_error *err) must_check;
int host_rules_read(const struct list *texts, struct host_rules *out,
		    struct remit_error *err) must_check;

/*
 * For entries that an untrusted client has written: refuse those that lead to
 * private hosts, and add the word "public" to addresses, so that the proxy
 * checks them when it connects. Entries that `granted` has, word for word, stay
 * as they are. Entries that cannot be read stay, too: the plan refuses them.
 */
int host_rules_keep_public(struct list *texts, const struct list *granted,
			   struct remit_error *err) must_check;

/* What a name's bytes must say at this port, if no word tells. */
enum host_kind host_rule_usual_kind(uint16_t port);

/* The first entry for this name or address at any port, at this port; or
   NULL. */
const struct host_rule *host_rules_name(const struct host_rules *all,
					const char *name);
const struct host_rule *host_rules_name_port(const struct host_rules *all,
					     const char *name, uint16_t port);
const struct host_rule *host_rules_address_port(const struct host_rules *all,
						const struct address *address,
						uint16_t port);

/*
 * Where hosts are reached if all public ones may be: each port needs a listener
 * in the jail, so not all 65535 can be open.
 */

#define PUBLIC_PORTS 25

extern const uint16_t public_ports[PUBLIC_PORTS];

#endif
