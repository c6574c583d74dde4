/*
 * lookup: ask the machine's resolvers where a name leads. By datagrams, from a
 * fresh socket and with a random number for each question, so that only who
 * sees it can answer it.
 */
#ifndef REMIT_LOOKUP_H
#define REMIT_LOOKUP_H

#include "base/loop.h"
#include "proxy/dns/dns.h"
#include "proxy/dns/names.h"

/* At once; more names wait for nothing and are lost for a moment. */
#define LOOKUPS_MAX 32

struct gate;

struct lookup {
	struct gate *gate;
	struct name *name; /* NULL: free */
	enum dns_type type;
	uint16_t id;
	unsigned tries;
	struct source on;
	struct timer timer;
};

void lookup_init(struct lookup *l, struct gate *g);

/* Find a name that is new or whose time is over; then, perhaps at once,
   relays_wake() is called. */
void lookup_start(struct gate *g, struct name *n);

#endif
