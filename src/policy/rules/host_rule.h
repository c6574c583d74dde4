/*
 * host_rule: parses entries of the field network_allow.
 *
 *	HOST:PORT[:WORD[,WORD...]]
 *
 * HOST is a name, "*." before a name of at least two labels (every name below
 * it), an IPv4 address, or an IPv6 address in brackets. Words:
 *
 *	tls, plain, tcp		the TLS hello or the HTTP head must name HOST,
 *				or (tcp) the bytes are not inspected; the
 *				default for names is tls at port 443, plain at
 *				port 80, else tcp
 *	private			the name may have a private address
 *	public			the address must be public; names without
 *				"private" are always limited to public addresses
 *	methods=GET+HEAD	only requests with these methods, and one
 *				request per connection
 *	bytes=10M		limit of a run, both directions together
 *	connections=5		limit of a run
 */
#ifndef REMIT_HOST_RULE_H
#define REMIT_HOST_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "base/net/address.h"
#include "base/net/host_name.h"

/* The maximum in one policy: each entry may need a listener. */
#define HOST_RULES_MAX 64

/* The address of the HTTP proxy in the jail, with the field network_proxy. */
#define HOST_PROXY_ADDRESS "127.0.0.1"
#define HOST_PROXY_PORT	   3128

enum host_kind {
	HOST_TCP,
	HOST_TLS,
	HOST_PLAIN,
};

struct host_rule {
	char name[HOST_NAME_SIZE]; /* "" for an address */
	bool is_below; /* the rule is for names below it, not for the name
			  itself */
	struct address address; /* if name is "" */
	uint16_t port;
	enum host_kind kind;
	bool may_be_private;
	bool must_be_public; /* for an address; the proxy checks this when it
				connects */
	unsigned methods;    /* bits of host_methods; 0: all methods */
	uint64_t most_bytes; /* in a run; 0: no limit */
	uint64_t most_connections;
};

/* The methods that an entry can list; bit i stands for row i. */
#define HOST_METHODS 7
extern const char *const host_methods[HOST_METHODS];
/* Returns the bit of a method, or 0. Case matters. */
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
 * Restricts entries of an untrusted client: refuses those that allow private
 * hosts, and adds the word "public" to addresses, so that the proxy checks them
 * when it connects. Entries that are also in `granted`, word for word, are
 * unchanged. So are malformed entries, which the plan will refuse.
 */
int host_rules_keep_public(struct list *texts, const struct list *granted,
			   struct remit_error *err) must_check;

/* Returns the kind of a name's entry at this port if it has no word for it. */
enum host_kind host_rule_usual_kind(uint16_t port);

/* Return the first entry for a name at any port; the best entry for a name at
   one port; the entry for an address at one port; or NULL. */
const struct host_rule *host_rules_name(const struct host_rules *all,
					const char *name);
const struct host_rule *host_rules_name_port(const struct host_rules *all,
					     const char *name, uint16_t port);
const struct host_rule *host_rules_address_port(const struct host_rules *all,
						const struct address *address,
						uint16_t port);

/*
 * The ports of public hosts that can be reached with network_access on: each
 * port needs a listener in the jail, so not all 65535 can be open.
 */

#define PUBLIC_PORTS 25

extern const uint16_t public_ports[PUBLIC_PORTS];

#endif
