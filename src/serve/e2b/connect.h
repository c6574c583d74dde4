/*
 * e2b_connect: replies of the Connect protocol with JSON: unary, and streams of
 * envelopes (one byte of flags, four of length, then JSON).
 */
#ifndef REMIT_E2B_CONNECT_H
#define REMIT_E2B_CONNECT_H

#include "serve/exchange.h"

/* {"code": ..., "message": ...}, with the status of the code. */
void connect_fail(struct exchange *x, const char *code, const char *message);
/* The code for an error of a file or of the library. */
const char *connect_code(const struct remit_error *err);

/* Envelopes; take the message. -1: nobody reads. */
int connect_send(struct exchange *x, json_t *message);
/* The last one; code NULL: all went well. */
void connect_end(struct exchange *x, const char *code, const char *message);

#endif
