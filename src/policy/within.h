/*
 * policy_within: whether a policy allows nothing that another does not.
 */
#ifndef REMIT_POLICY_WITHIN_H
#define REMIT_POLICY_WITHIN_H

#include "policy/policy.h"

/*
 * Each field of `want` against that of `most`, by the direction in which it
 * gives more; fields whose bit is in `free` (bit i is row i of the field table)
 * may be anything. -1: err has the field and says what is allowed.
 */
int policy_within(const struct policy *want, const struct policy *most,
		  uint64_t free, struct remit_error *err) must_check;

/* The fields by which code gets nothing of the host and of nobody else: limits,
   hosts, packages, lists of the validator. */
extern const uint64_t policy_within_harmless;

#endif
