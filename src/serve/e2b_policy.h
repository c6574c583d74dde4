/*
 * e2b_policy: what a client of E2B wants of a new sandbox, as a policy. What
 * cannot be kept is refused and not left out.
 */
#ifndef REMIT_E2B_POLICY_H
#define REMIT_E2B_POLICY_H

#include <jansson.h>
#include <stdbool.h>

#include "error.h"

/* The fields that differ from those of the key's policy, a new object; NULL:
   err says what cannot be had. */
json_t *e2b_policy(const json_t *body, bool has_network,
		   struct remit_error *err);

#endif
