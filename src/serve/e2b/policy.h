/*
 * e2b_policy: what a client of E2B wants of a new sandbox, as a policy. What
 * cannot be kept is refused and not left out.
 */
#ifndef REMIT_E2B_POLICY_H
#define REMIT_E2B_POLICY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct e2b_policy {
	json_t *policy;	     /* the fields that differ from the key's */
	json_t *credentials; /* entries that come to those of the key */
	json_t *secrets;     /* their values by name, and in no entry */
};

/* `open`: the key's policy lets everything through; `hosts` are those that it
   names. -1: err says what cannot be had. */
int e2b_policy_read(struct e2b_policy *out, const json_t *body, bool open,
		    const struct list *hosts,
		    struct remit_error *err) must_check;
void e2b_policy_free(struct e2b_policy *p);

#endif
