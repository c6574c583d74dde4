/*
 * schema_part: what the reader of schemas (schema.c) and the validator of
 * values (schema_check.c) have in common. For these files only.
 */
#ifndef REMIT_SCHEMA_PART_H
#define REMIT_SCHEMA_PART_H

#include <stdbool.h>

#include "client/tools/schema.h"

/* A value that is looked at. */
struct schema_look {
	const json_t *root; /* of the schema */
	struct remit_error *err;
	unsigned depth, steps;
	bool gave_up; /* it takes too long or leads too deep */
	char place[256];
	size_t place_len;
};

/* Whether a value is as one keyword wants it; `of` is the keyword's value,
   `schema` what it stands in. */
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

/* What a "$ref" leads to; NULL: nothing. */
const json_t *schema_resolve(const json_t *root, const char *ref);
/* The rule for a keyword; NULL: it says nothing of values. */
schema_rule *schema_rule_of(const char *keyword);

#endif
