/*
 * piston_request: converts requests of Piston's clients to requests of the
 * native API. Errors have the wording of Piston.
 */
#ifndef REMIT_PISTON_REQUEST_H
#define REMIT_PISTON_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "serve/auth/keys.h"

/* The other names of Python in Piston; the last element is NULL. */
extern const char *const piston_aliases[];

/* Returns the run as a new document and its timeout (0: that of the policy), or
   NULL with an error. */
json_t *piston_read_request(const json_t *body, const struct key *key,
			    uint64_t *timeout_ms, struct remit_error *err);

/* Whether a version matches a selector of semantic versions: "3.11.2", "3.x",
   "*", "^3.8", "~3.11", ">=3.8 <4", "2.x || 3.x". Returns false for a selector
   that is not understood. */
bool piston_version_matches(const char *selector, const int version[3]);

#endif
