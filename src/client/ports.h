/*
 * client_ports: connections to programs that listen in the jail of a session.
 * For servers; it is not a part of libremit's interface.
 *
 * The keeper decides whether a port may be reached, and makes the sockets.
 */
#ifndef REMIT_CLIENT_PORTS_H
#define REMIT_CLIENT_PORTS_H

#include <stdint.h>

#include "base/error.h"
#include "remit.h"

struct ports_link;

/* Requests a connection for the functions below from an open session, between
   two cells. The keeper closes it if the jail has no network that belongs to it
   alone. Call it once for each jail of the session. */
int ports_open(struct remit_session *s, struct ports_link **out,
	       struct remit_error *err) must_check;
/* Accepts NULL. Sockets that ports_connect() has returned stay open. */
void ports_link_free(struct ports_link *p);
/* Makes ports_connect() fail. May be called from any thread. */
void ports_shut_down(struct ports_link *p);

/* Returns in *fd a non-blocking TCP socket that is being connected to
   127.0.0.1:port in the jail: it becomes writable when that is done, and
   SO_ERROR says how it ended. Waits for the keeper, not for the program that
   listens. May be called from any thread. */
int ports_connect(struct ports_link *p, uint16_t port, int *fd,
		  struct remit_error *err) must_check;

#endif
