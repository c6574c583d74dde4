/*
 * listeners: the sockets by which code in a jail reaches the hosts that its
 * plan names. Pid 1 opens them in the jail's network namespace and passes them
 * to the proxy; inside, only addresses remain that lead to these sockets.
 */
#ifndef REMIT_LISTENERS_H
#define REMIT_LISTENERS_H

#include <netinet/in.h>

#include "base/net/address.h"
#include "policy/plan/plan.h"
#include "policy/rules/host_rule.h"

/* In a jail, names of hosts resolve to addresses in this network, which no host
   has: RFC 2544 reserves it. */
#define LISTENERS_NET  0xc6120000u /* 198.18.0.0 */
#define LISTENERS_MASK 0xfffe0000u
/* The name server in the jail's resolv.conf. */
#define LISTENERS_DNS 0x7f000001u /* 127.0.0.1 */

/* One port for each entry and each public port, one socket for DNS, one for the
   explicit proxy. */
#define LISTENERS_MAX (HOST_RULES_MAX + PUBLIC_PORTS + 2)

/* What to open, prepared before the clone: pid 1 parses nothing. */
struct listeners {
	struct listener_port {
		bool is_v6;
		in_port_t port; /* in network byte order */
	} ports[LISTENERS_MAX];
	size_t port_count;
	struct address addresses[LISTENERS_MAX]; /* of hosts named by address */
	size_t address_count;
	bool everywhere; /* listen on every address */
};

int listeners_list(struct listeners *out, const struct plan *plan,
		   struct remit_error *err) must_check;

/* Whether these listeners are enough for another list of hosts; *which is the
   number of the first entry that they do not serve. */
bool listeners_cover(const struct listeners *l, const struct host_rules *rules,
		     size_t *which) must_check;
/* Whether one of these is at a port: the proxy accepts connections there, and
   the code cannot listen. */
bool listeners_have_port(const struct listeners *l, uint16_t port);

/*
 * Called in pid 1: bring the loopback device up, open all listeners, send them
 * over the socket `to` and keep none open. Returns -1 with errno.
 */
int listeners_open(const struct listeners *l, int to,
		   uint32_t *detail) must_check;

/* Called in pid 1: bring the loopback device up, and nothing else. Returns -1
   with errno. */
int listeners_loopback(void) must_check;

/* Called in the proxy: receive the sockets. The first is for DNS, the others
   listen. Returns -1 if they do not arrive. */
int listeners_recv(int from, int *fds, size_t *count) must_check;

#endif
