/*
 * denial_rule: what a refusal means for somebody who knows policies and not
 * the kernel: which field would allow it, and how it is shown.
 */
#ifndef REMIT_DENIAL_RULE_H
#define REMIT_DENIAL_RULE_H

#include "jail/seccomp/notice.h"
#include "keeper/output/denial.h"
#include "policy/plan/plan.h"

/* Of a call that waits for its refusal; reads its memory. */
void denial_of_notice(struct denial *out, const struct notice *n,
		      const struct policy *policy);

/*
 * Of a path that code says it was refused with this error. False if it would
 * be none of the policy's doing: a file that is missing where it may be.
 */
bool denial_of_path(struct denial *out, const char *path, int error,
		    const struct plan *plan) must_check;

#endif
