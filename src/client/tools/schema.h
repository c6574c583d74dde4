/*
 * schema: JSON Schemas (2020-12) for the arguments of tools.
 *
 * A schema with a keyword that is not checked is refused, since the tool would
 * rely on it. docs/guide/tools.md lists the keywords. A `$ref` must refer to
 * the same document.
 */
#ifndef REMIT_SCHEMA_H
#define REMIT_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* The longest text of a schema. */
#define SCHEMA_MAX_BYTES (256 * 1024)

struct schema {
	json_t *root;
};

int schema_read(struct schema *s, const char *text,
		struct remit_error *err) must_check;
/* Check a value. The error has the place and the reason: "arguments.a: must be
   of type integer, not string". A check that takes too long fails, too. */
int schema_check(const struct schema *s, const json_t *value,
		 struct remit_error *err) must_check;
void schema_free(struct schema *s);

#endif
