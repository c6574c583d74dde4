/*
 * port_relay: forwards one request to a program that listens in a jail, and
 * relays its reply. Only the HTTP thread uses it.
 *
 * One connection of a client is one connection into the jail, and ends with the
 * reply. The head of the request is rewritten (http/forward.h). From the client
 * no byte after the end of this request is forwarded, unless the program has
 * switched to another protocol, such as WebSocket: then bytes are relayed in
 * both directions until one side ends.
 *
 * What the program sends is not trusted: the first line of its reply is
 * checked, and everything else goes to the client as it is. A side that does
 * not read stops the other, so few bytes wait in each direction.
 */
#ifndef REMIT_PORT_RELAY_H
#define REMIT_PORT_RELAY_H

#include <stdint.h>

struct conn;
struct port_relay;

/* Takes over a connection, whose request has x->route->relays. Takes ownership
   of the socket, which is being connected. `secrets` are the headers that are
   not forwarded; it ends with NULL. */
void port_relay_begin(struct conn *c, int fd, const char *const *secrets);
/* Called with the events of the client's socket. */
void port_relay_on_client(struct port_relay *r, uint32_t events);
/* Ends the relay if it has taken too long. */
void port_relay_watch(struct port_relay *r, uint64_t now_us);
/* Accepts NULL. */
void port_relay_free(struct port_relay *r);

#endif
