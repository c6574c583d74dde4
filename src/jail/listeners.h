/*
 * listeners: the ways out of a jail whose plan names hosts. Pid 1 makes them in
 * the jail's own network and gives them to the proxy; inside remain only
 * addresses that lead to them.
 */
#ifndef REMIT_LISTENERS_H
#define REMIT_LISTENERS_H

#include <netinet/in.h>

#include "base/net/address.h"
#include "policy/plan/plan.h"
#include "policy/rules/host_rule.h"

/* Names lead to addresses of this network (RFC 2544: no host has one). */
#define LISTENERS_NET  0xc6120000u /* 198.18.0.0 */
#define LISTENERS_MASK 0xfffe0000u
/* The name server that the jail's resolv.conf names. */
#define LISTENERS_DNS 0x7f000001u /* 127.0.0.1 */

/* A port of each entry, the usual ones, names, and a proxy. */
#define LISTENERS_MAX (HOST_RULES_MAX + PUBLIC_PORTS + 2)

/* What to make, ready before the clone: pid 1 parses nothing. */
struct listeners {
	struct listener_port {
		bool is_v6;
		in_port_t port; /* in network order */
	} ports[LISTENERS_MAX];
	size_t port_count;
	struct address addresses[LISTENERS_MAX]; /* of hosts named so */
	size_t address_count;
	bool everywhere; /* at every address there is */
};

int listeners_list(struct listeners *out, const struct plan *plan,
		   struct remit_error *err) must_check;

/*
 * In pid 1: bring the loopback device up, make all listeners, send them over
 * the socket `to` and keep none. -1 with errno.
 */
int listeners_open(const struct listeners *l, int to,
		   uint32_t *detail) must_check;

/* In the proxy: take what was sent; the first is for names, the others listen.
   -1 if they do not come. */
int listeners_recv(int from, int *fds, size_t *count) must_check;

#endif
