/*
 * field_mounts: the JSON form of mounts, the one field whose entries have
 * members.
 */
#ifndef REMIT_FIELD_MOUNTS_H
#define REMIT_FIELD_MOUNTS_H

#include "policy/fields/field.h"

/* A row of the setters of policy/fields/json.c. */
int field_mounts_set(struct policy *p, const struct field *f, json_t *value,
		     struct remit_error *err) must_check;

#endif
