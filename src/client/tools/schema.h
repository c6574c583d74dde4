/*
 * schema: what a tool's arguments must look like, as JSON Schema (2020-12).
 *
 * Only keywords that are checked are accepted: one that is not would be a
 * promise that nobody keeps. docs/guide/tools.md lists them. A `$ref` leads to
 * a place in the same document.
 */
#ifndef REMIT_SCHEMA_H
#define REMIT_SCHEMA_H

#include <jansson.h>

#include "base/error.h"

/* Of a schema's text. */
#define SCHEMA_MAX_BYTES (256 * 1024)

struct schema {
	json_t *root;
};

int schema_read(struct schema *s, const char *text,
		struct remit_error *err) must_check;
/* The message says where and why: "arguments.a: an integer is wanted". What
   would take too long to find out does not fit either. */
int schema_check(const struct schema *s, const json_t *value,
		 struct remit_error *err) must_check;
void schema_free(struct schema *s);

#endif
