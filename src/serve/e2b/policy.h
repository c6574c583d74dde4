/*
 * e2b_policy: converts the requirements of a client of E2B for a new sandbox to
 * a policy. Requirements that cannot be met are refused, not ignored.
 */
#ifndef REMIT_E2B_POLICY_H
#define REMIT_E2B_POLICY_H

#include <jansson.h>
#include <stdbool.h>

#include "policy/fields/field.h"

struct e2b_policy {
	json_t *policy;	     /* fields that differ from the key's policy */
	json_t *credentials; /* added to those of the key's policy */
	json_t *secrets;     /* their values by name; not in the policy */
};

/* `open`: the key's policy allows the whole network; `hosts` are those that it
   lists. Returns -1 with an error that names what is not possible. */
int e2b_policy_read(struct e2b_policy *out, const json_t *body, bool open,
		    const struct list *hosts,
		    struct remit_error *err) must_check;
void e2b_policy_free(struct e2b_policy *p);

/*
 * Moves the workspace to /home/user, where E2B's clients and the code that they
 * send expect it; the policy's own path becomes an alias. That is not possible
 * in a tier without namespaces, or if the policy mounts something there.
 */
bool e2b_policy_can_move_home(const struct policy *p);
int e2b_policy_move_home(struct policy *p, struct remit_error *err) must_check;

/* Whether clients may name this template. */
bool e2b_is_template(const char *name);

#endif
