/*
 * e2b_connect: replies in the Connect protocol with JSON: single replies, and
 * streams of envelopes (one byte of flags, four of length, then JSON).
 */
#ifndef REMIT_E2B_CONNECT_H
#define REMIT_E2B_CONNECT_H

#include "serve/exchange.h"

/* Replies {"code": ..., "message": ...} with the status for the code. */
void connect_fail(struct exchange *x, const char *code, const char *message);
/* Returns the code for an error of a file or of the library. */
const char *connect_code(const struct remit_error *err);

/* Sends an envelope and frees the message. Returns -1 if the client is gone. */
int connect_send(struct exchange *x, json_t *message);
/* Sends the last envelope; a NULL code means success. */
void connect_end(struct exchange *x, const char *code, const char *message);

#endif
