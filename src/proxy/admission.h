/*
 * admission: whether a connection of the jail may go on, from its first byte:
 * whom it is for, whether its bytes say the same, and what its entry allows.
 */
#ifndef REMIT_ADMISSION_H
#define REMIT_ADMISSION_H

#include "proxy/relay.h"

/* It was made; then: the code has said more. */
void admission_begin(struct relay *r);
void admission_go_on(struct relay *r);

/* It was held, and somebody has said whether it may go on. */
void admission_settle(struct relay *r, bool is_allowed);

/* It is open, and so many bytes have come at the end of what is to be sent and
   received. -1 if that is noted as refused, and it must be cut. */
int admission_waits(struct relay *r, size_t sent, size_t received) must_check;

/* ---- what the relay does for it ---- */

/* Call admission_go_on() when the code says more. */
void relay_hear(struct relay *r);
/* Let it wait until admission_settle(). */
void relay_suspend(struct relay *r);
/* What it has said, up to HEAD_MAX bytes. -1 if the connection is broken. */
int relay_read_head(struct relay *r) must_check;
/* It speaks TLS, with us: what it has said is its hello. */
int relay_end_tls(struct relay *r) must_check;
/* Let it through: find the host, and connect. */
void relay_find(struct relay *r);
void relay_refuse(struct relay *r, enum ledger_why why);
/* It has ended by itself; it is broken. */
void relay_end(struct relay *r);
void relay_cut(struct relay *r);

#endif
