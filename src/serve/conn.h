/*
 * conn: one connection: reads a request, has it checked and answered, sends
 * the reply, and reads the next. It belongs to the thread of HTTP.
 */
#ifndef REMIT_CONN_H
#define REMIT_CONN_H

#include "base/loop.h"
#include "serve/exchange.h"

enum conn_step {
	CONN_HANDSHAKE, /* both sides agree on TLS */
	CONN_HEAD,	/* reads a head, or waits for one */
	CONN_BODY,	/* reads a body */
	CONN_ANSWER,	/* the reply is being made, or sent */
	CONN_LINGER,	/* the last reply is sent: reads until the other end has
			   read it too, and closes */
};

struct conn {
	struct conn *next, **before; /* of the server's list */
	struct server *server;
	struct source source;
	int fd;
	uint16_t port;	 /* that it came in by; 0: the unix socket */
	struct tls *tls; /* NULL: none, or nothing was said yet */
	struct certificate *certificate; /* that was shown with it */
	enum conn_step step;
	struct buf in;
	struct exchange *x;
	/* The key that its last request with one counted for; NULL: it has
	   proved nothing yet. */
	struct key *key;
	size_t sent;	      /* of x->out */
	bool has_unsent;      /* there is more than the other end has read */
	size_t discarded;     /* bytes read while it lingers */
	uint64_t step_us;     /* when the step began */
	uint64_t progress_us; /* when bytes went in or out for the last time */
};

/* Takes the descriptor, whatever comes of it. */
void conn_open(struct server *s, int fd, uint16_t port);
/* Send what there is to send, and go on. */
void conn_progress(struct conn *c);
/* Close it if it has taken too long over something. */
void conn_watch(struct conn *c, uint64_t now_us);
void conn_close(struct conn *c);
/* Between two requests, or before the first. */
bool conn_is_idle(const struct conn *c);

#endif
