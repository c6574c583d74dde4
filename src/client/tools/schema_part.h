/*
 * schema_part: shared by the reader of schemas (schema.c) and the checker of
 * values (schema_check.c). No other file includes it.
 */
#ifndef REMIT_SCHEMA_PART_H
#define REMIT_SCHEMA_PART_H

#include <stdbool.h>

#include "client/tools/schema.h"

/* The state of checking a value. */
struct schema_look {
	const json_t *root; /* the root of the schema */
	struct remit_error *err;
	unsigned depth, steps;
	bool gave_up; /* the check is too long or too deep */
	char place[256];
	size_t place_len;
};

/* Returns true if a value satisfies one keyword. `of` is the keyword's value,
   and `schema` the object that contains the keyword. */
typedef bool schema_rule(struct schema_look *l, const json_t *schema,
			 const json_t *of, const json_t *value);

schema_rule schema_is_type, schema_has_properties, schema_has_required,
	schema_has_no_more, schema_is_in_enum, schema_is_const,
	schema_items_fit, schema_is_minimum, schema_is_maximum, schema_is_above,
	schema_is_below, schema_is_min_length, schema_is_max_length,
	schema_is_min_items, schema_is_max_items, schema_is_min_properties,
	schema_is_max_properties, schema_fits_any, schema_fits_ref;

/* The names of types, NULL-terminated. */
extern const char *const schema_types[];

/* Returns the target of a "$ref", or NULL. */
const json_t *schema_resolve(const json_t *root, const char *ref);
/* Returns the rule for a keyword; NULL if the keyword does not restrict
   values. */
schema_rule *schema_rule_of(const char *keyword);

#endif
