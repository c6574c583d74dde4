/*
 * session_ports: connections from outside to programs that listen in the jail
 * of a session.
 *
 * The client requests them over a connection of its own, so it never waits for
 * a cell. The keeper connects a socket of the jail's network to the port and
 * passes it to the client. It neither waits for the connection nor reads from
 * it. The ports at which the network proxy listens are refused: a peer from
 * outside would get the network of the code.
 *
 * What the client has received is its own; connections end when the jail does,
 * because nothing else is at their other end.
 */
#ifndef REMIT_SESSION_PORTS_H
#define REMIT_SESSION_PORTS_H

#include "base/error.h"
#include "wire/frame.h"

struct session;
struct ports;

/* Handles the request for a connection for ports, between two cells. If there
   can be none, it is closed. */
int session_open_ports(struct session *s, const struct frame *f,
		       struct remit_error *err) must_check;
/* Accepts NULL. */
void ports_free(struct ports *p);

#endif
