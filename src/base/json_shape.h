/*
 * json_shape: how much a JSON text asks for before it is parsed. A value takes
 * many times its text, and the parser calls itself for each level.
 */
#ifndef REMIT_JSON_SHAPE_H
#define REMIT_JSON_SHAPE_H

#include <stddef.h>

struct json_shape {
	size_t values; /* at most so many, whatever stands in strings */
	size_t depth;
};

/* What the values of one text may be at most where a stranger sends it. */
#define JSON_VALUES_MAX 100000

/* Of a text that need not be JSON. */
struct json_shape json_shape_of(const char *text, size_t len);

#endif
