/*
 * e2b_signature: addresses that a client of E2B signs, so that whoever has one
 * can read or write one file without the token:
 *
 *	signature = "v1_" + base64(SHA-256("path:read:user:token[:expiry]"))
 */
#ifndef REMIT_E2B_SIGNATURE_H
#define REMIT_E2B_SIGNATURE_H

#include "serve/exchange.h"

/* Of this request for /files, for a sandbox with this token, and still good. */
bool e2b_signature_is_right(const struct exchange *x, const char *token);

#endif
