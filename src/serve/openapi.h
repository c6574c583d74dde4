/*
 * openapi: generates an OpenAPI document from the tables of routes, and from
 * tables with the schemas of their bodies and replies. The macros below are the
 * parts of these schemas.
 */
#ifndef REMIT_OPENAPI_H
#define REMIT_OPENAPI_H

#include <jansson.h>
#include <stdbool.h>

#include "http/route.h"

/* Leaves out rows without a summary. Returns NULL if memory is exhausted. */
json_t *openapi_document(const struct route_table *tables);

/* ---- schemas of bodies and replies ---- */

#define ANY		 "{}"
#define TEXT		 "{\"type\":\"string\"}"
#define TEXT_OR		 "{\"type\":[\"string\",\"null\"]}"
#define COUNT		 "{\"type\":\"integer\",\"minimum\":0}"
#define WHOLE		 "{\"type\":\"integer\"}"
#define WHOLE_OR	 "{\"type\":[\"integer\",\"null\"]}"
#define NUMBER		 "{\"type\":\"number\"}"
#define NUMBER_OR	 "{\"type\":[\"number\",\"null\"]}"
#define YES_NO		 "{\"type\":\"boolean\"}"
#define YES_NO_OR	 "{\"type\":[\"boolean\",\"null\"]}"
#define OBJECT		 "{\"type\":\"object\"}"
#define OBJECT_OR	 "{\"type\":[\"object\",\"null\"]}"
#define LIST		 "{\"type\":\"array\"}"
#define REF(name)	 "{\"$ref\":\"#/components/schemas/" name "\"}"
#define LIST_OF(item)	 "{\"type\":\"array\",\"items\":" item "}"
#define LIST_OF_OR(item) "{\"type\":[\"array\",\"null\"],\"items\":" item "}"
#define ONE_OF(words)	 "{\"enum\":[" words "]}"
#define MAP_OF(type) \
	"{\"type\":\"object\",\"additionalProperties\":{\"type\":" type "}}"

#define MEMBERS_MAX 24

struct openapi_shape {
	const char *name;
	/* No other members are allowed; exactly one of them is given. */
	bool is_closed, has_one;
	struct {
		const char *name, *schema;
		bool required;
	} members[MEMBERS_MAX];
};

/* A schema that is not an object, or that lists no members. */
struct openapi_other {
	const char *name, *schema;
};

#endif
