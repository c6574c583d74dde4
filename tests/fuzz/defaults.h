/*
 * defaults: a document or command line that is refused changes no field.
 */
#ifndef REMIT_FUZZ_DEFAULTS_H
#define REMIT_FUZZ_DEFAULTS_H

#include "fuzz.h"
#include "policy/fields/field.h"

static inline bool
has_only_defaults(const struct policy *p)
{
	for (int i = 0; i < FIELD_TOTAL; i++)
		if (!field_is_default(p, &fields[i]))
			return false;
	return true;
}

#endif
