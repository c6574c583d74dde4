/*
 * conn_tls: TLS between a connection and its socket. Without it bytes go as
 * they are.
 */
#ifndef REMIT_CONN_TLS_H
#define REMIT_CONN_TLS_H

#include "serve/conn.h"

/* As send(2) and recv(2), which do not wait. */
ssize_t conn_send(struct conn *c, const void *bytes, size_t len) must_check;
ssize_t conn_receive(struct conn *c, void *out, size_t size) must_check;

/* The first bytes of a connection are HTTP without TLS: they were answered. */
bool conn_tls_refuses(struct conn *c);
/* As tls_shake(). */
int conn_tls_shake(struct conn *c) must_check;
/* Nothing was cut off: no more will be sent. */
void conn_tls_say_end(const struct conn *c);
void conn_tls_free(struct conn *c);

#endif
