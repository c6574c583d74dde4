/*
 * relay: one connection of the jail, from its first byte to the last.
 *
 *	reading its head → finding the host → connecting → open
 *
 * Whom it is for says the address that it was made to. The bytes are looked at
 * only to see that they do not name somebody else.
 */
#ifndef REMIT_RELAY_H
#define REMIT_RELAY_H

#include "base/loop.h"
#include "base/net/address.h"
#include "http/request.h"
#include "policy/rules/host_rule.h"
#include "proxy/dns/names.h"
#include "proxy/flow.h"
#include "proxy/ledger.h"

/* Of one jail at once; more wait in the kernel. */
#define RELAYS_MAX 128
/* Directions with a pipe, of all of these. */
#define RELAYS_PIPED 16

struct gate;

enum relay_state {
	RELAY_FREE,
	RELAY_HEAD,
	RELAY_PENDING, /* somebody is asked whether it may be */
	RELAY_RESOLVING,
	RELAY_CONNECTING,
	RELAY_HANDSHAKE, /* the host has to prove who it is */
	RELAY_OPEN,
};

/* What has gone by an entry. */
struct relay_use {
	uint64_t connections, bytes;
};

struct relay {
	struct gate *gate;
	enum relay_state state;
	const struct host_rule *rule;
	struct host_rule any_rule; /* of a host that is only public */
	struct relay_use any_use;  /* of that */
	struct name *name;	   /* NULL for an address */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	bool is_allowed;  /* a person has said so */
	bool is_explicit; /* it will say whom it is for, to a proxy */
	bool is_single;	  /* it has one request, which is looked at */
	const struct http_header *credential; /* of that, or NULL */
	const struct tls_end *tls_end;	      /* TLS ends here; else NULL */
	struct http_body body;		      /* of that */
	int code, peer;			      /* sockets, or -1 */
	struct tls *code_tls, *peer_tls;      /* what is spoken there */
	struct source on_code, on_peer;
	struct timer timer;
	struct addresses targets;
	size_t tried;
	struct ledger_row *row;
	struct flow out, in;
};

/* A connection was taken; there is room. */
void relay_begin(struct gate *g, int fd);
/* A name is known or lost: who waited for it goes on. */
void relays_wake(struct gate *g, struct name *n);

/*
 * ---- admission.c: whether it may go on, from its first byte: whom it is for,
 * whether its bytes say the same, and what its entry allows ----
 */

/* It was made; then: the code has said more. */
void admission_start(struct relay *r);
void admission_continue(struct relay *r);

/* It was held, and somebody has said whether it may go on. */
void admission_settle(struct relay *r, bool is_allowed);

/* It is open, and so many bytes have come at the end of what is to be sent and
   received. -1 if that is noted as refused, and it must be cut. */
int admission_account(struct relay *r, size_t sent, size_t received) must_check;

/* ---- what the relay does for it ---- */

/* Call admission_continue() when the code says more. */
void relay_await_head(struct relay *r);
/* Let it wait until admission_settle(). */
void relay_suspend(struct relay *r);
/* What it has said, up to HEAD_MAX bytes. -1 if the connection is broken. */
int relay_read_head(struct relay *r) must_check;
/* It speaks TLS, with us: what it has said is its hello. */
int relay_end_tls(struct relay *r) must_check;
/* Let it through: find the host, and connect. */
void relay_resolve(struct relay *r);
void relay_refuse(struct relay *r, enum ledger_why why);
/* It has ended by itself; it is broken. */
void relay_end(struct relay *r);
void relay_cut(struct relay *r);

#endif
