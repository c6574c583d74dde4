/*
 * relay: one connection of the jail, from its first byte to its last.
 *
 *	reading its head → resolving the host → connecting → open
 *
 * The address that the code connected to identifies the host. The bytes are
 * inspected only to check that they do not name another host.
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

/* Concurrent connections of one jail; more wait in the kernel. */
#define RELAYS_MAX 128
/* How many directions of these may have a pipe. */
#define RELAYS_PIPED 16

struct gate;

enum relay_state {
	RELAY_FREE,
	RELAY_HEAD,
	RELAY_PENDING, /* waiting for a person's answer to a prompt */
	RELAY_RESOLVING,
	RELAY_CONNECTING,
	RELAY_HANDSHAKE, /* the host must prove its identity */
	RELAY_OPEN,
};

/* What has been used of an entry's limits. */
struct relay_use {
	uint64_t connections, bytes;
};

struct relay {
	struct gate *gate;
	enum relay_state state;
	const struct host_rule *rule;
	struct host_rule any_rule; /* the rule for a host that no entry names */
	struct relay_use any_use;  /* its use */
	struct name *name;	   /* NULL for an address */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	bool is_allowed;  /* by a person */
	bool is_explicit; /* an explicit proxy request will name the host */
	bool is_single;	  /* carries one request, which is inspected */
	const struct http_header *credential; /* for this request, or NULL */
	const struct tls_end
		*tls_end;      /* if TLS is terminated here; else NULL */
	struct http_body body; /* of this request */
	int code, peer;	       /* sockets, or -1 */
	struct tls *code_tls, *peer_tls; /* TLS on these sockets, or NULL */
	struct source on_code, on_peer;
	struct timer timer;
	struct addresses targets;
	size_t tried;
	struct ledger_row *row;
	struct flow out, in;
};

/* Begin with a connection that was accepted. A relay must be free. */
void relay_begin(struct gate *g, int fd);
/* Called when a name is known or lost: continues the relays that wait for
   it. */
void relays_wake(struct gate *g, struct name *n);

/*
 * ---- admission.c: whether the connection may go on: which host it is for,
 * whether its bytes name the same host, and what its entry allows ----
 */

/* Called when the connection was made, and later when the code has sent
   more. */
void admission_start(struct relay *r);
void admission_continue(struct relay *r);

/* Called when a person has decided on a pending connection. */
void admission_settle(struct relay *r, bool is_allowed);

/* Called when the connection is open and `sent` and `received` more bytes have
   arrived at the ends of the two flows. Returns -1 if that was recorded as a
   refusal and the connection must be cut. */
int admission_account(struct relay *r, size_t sent, size_t received) must_check;

/* ---- what the relay does for admission.c ---- */

/* Call admission_continue() when the code sends more. */
void relay_await_head(struct relay *r);
/* Suspend the connection until admission_settle(). */
void relay_suspend(struct relay *r);
/* Read what the code has sent, up to HEAD_MAX bytes. Returns -1 if the
   connection is broken. */
int relay_read_head(struct relay *r) must_check;
/* Terminate TLS here; what the code has sent is its hello. */
int relay_end_tls(struct relay *r) must_check;
/* Let the connection through: resolve the host, and connect. */
void relay_resolve(struct relay *r);
void relay_refuse(struct relay *r, enum ledger_why why);
/* End a connection that is complete; cut one that is broken. */
void relay_end(struct relay *r);
void relay_cut(struct relay *r);

#endif
