/*
 * piston_request: what Piston's clients ask for, as a request of the
 * native API. What is wrong is said as Piston says it.
 */
#ifndef REMIT_PISTON_REQUEST_H
#define REMIT_PISTON_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "serve/auth/keys.h"

/* The other names of Python in Piston, NULL behind the last. */
extern const char *const piston_aliases[];

/* A run as a new document, and its time: 0 for the policy's. NULL: err says
   what is wrong. */
json_t *piston_read_request(const json_t *body, const struct key *key,
			    uint64_t *timeout_ms, struct remit_error *err);

/* Whether a version is one that a selector of semantic versions means:
   "3.11.2", "3.x", "*", "^3.8", "~3.11", ">=3.8 <4", "2.x || 3.x". False also
   for a selector that is not understood. */
bool piston_version_matches(const char *selector, const int version[3]);

#endif
