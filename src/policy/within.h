/*
 * policy_within: whether one policy allows nothing beyond another.
 */
#ifndef REMIT_POLICY_WITHIN_H
#define REMIT_POLICY_WITHIN_H

#include "policy/policy.h"

/*
 * Compares each field of `want` with that of `most`, by the direction in which
 * the field allows more. Fields whose bit is set in `free` (bit i is row i of
 * the field table) are not compared. Returns -1 with the field and the allowed
 * value in *err.
 */
int policy_within(const struct policy *want, const struct policy *most,
		  uint64_t free, struct remit_error *err) must_check;

/* The fields that give code no access to the host or to other clients: limits,
   network hosts, packages, lists of the validator. */
extern const uint64_t policy_within_harmless;

#endif
