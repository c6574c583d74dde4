/*
 * piston_ask: what Piston's clients ask for, as a request of the native API.
 * What is wrong is said as Piston says it.
 */
#ifndef REMIT_PISTON_ASK_H
#define REMIT_PISTON_ASK_H

#include <jansson.h>

#include "serve/auth/keys.h"

/* The other names of Python in Piston, NULL behind the last. */
extern const char *const piston_aliases[];

/* A run as a new document, and its time: 0 for the policy's. NULL: err says
   what is wrong. */
json_t *piston_ask(const json_t *body, const struct key *key,
		   uint64_t *timeout_ms, struct remit_error *err);

#endif
