/*
 * policy_within: whether one policy allows nothing beyond another.
 */
#ifndef REMIT_POLICY_WITHIN_H
#define REMIT_POLICY_WITHIN_H

#include "policy/fields/field.h"

/*
 * Compares each field of `want` with that of `most`, by the direction in which
 * the field allows more. Fields in `free` are not compared. Returns -1 with the
 * field and the allowed value in *err.
 */
int policy_within(const struct policy *want, const struct policy *most,
		  const struct field_set *free,
		  struct remit_error *err) must_check;

/* The fields that give code no access to the host or to other clients: limits,
   network hosts, packages, lists of the validator. */
struct field_set policy_within_harmless(void);

#endif
