/*
 * conn: one connection. It reads a request, has it checked and answered, sends
 * the reply, and then reads the next request. Only the HTTP thread uses it.
 */
#ifndef REMIT_CONN_H
#define REMIT_CONN_H

#include "base/loop.h"
#include "serve/exchange.h"

enum conn_step {
	CONN_HANDSHAKE, /* TLS handshake */
	CONN_HEAD,	/* waits for a head, or reads it */
	CONN_BODY,	/* reads a body */
	CONN_ANSWER,	/* the reply is being built or sent */
	CONN_RELAY,	/* a program in a jail replies: port_relay.h */
	CONN_LINGER, /* the last reply is sent: discards input until the client
			has closed its end */
};

struct conn {
	struct conn *next, **before; /* in the server's list */
	struct server *server;
	struct source source;
	int fd;
	uint16_t port;	 /* the local port; 0 for the unix socket */
	struct tls *tls; /* NULL: no TLS, or no byte received yet */
	struct certificate *certificate; /* in use by `tls` */
	enum conn_step step;
	struct buf in;
	struct exchange *x;
	struct port_relay *relay; /* in CONN_RELAY */
	/* The key that its last request with a key belonged to; NULL: none so
	   far. */
	struct key *key;
	size_t sent;	      /* bytes of x->out */
	bool has_unsent;      /* part of the reply waits for the socket */
	size_t discarded;     /* bytes discarded in CONN_LINGER */
	uint64_t step_us;     /* when the step began */
	uint64_t progress_us; /* when bytes were last read or sent */
};

/* Takes ownership of the descriptor in any case. */
void conn_open(struct server *s, int fd, uint16_t port);
/* Sends what is ready, and continues with the next step. */
void conn_progress(struct conn *c);
/* Closes the connection if its current step has taken too long. */
void conn_watch(struct conn *c, uint64_t now_us);
void conn_close(struct conn *c);
/* Whether it is between two requests or before the first. */
bool conn_is_idle(const struct conn *c);

/* ---- for port_relay.c ---- */

/* Like send(2) and recv(2) with MSG_DONTWAIT, with TLS if the client uses it.
   `size` must be at least 16 KiB. */
ssize_t conn_send(struct conn *c, const void *bytes, size_t len);
ssize_t conn_receive(struct conn *c, void *out, size_t size);
void conn_want(struct conn *c, uint32_t events);
/* The reply is sent: closes the connection, or waits for the next request. */
void conn_finish(struct conn *c);
/* The relay has ended or could not begin: sends an error as the reply. */
void conn_reply_instead(struct conn *c, int status, const char *message);

#endif
