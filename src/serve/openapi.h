/*
 * openapi: the routes of the server as an OpenAPI document, made from their
 * tables; and tables of what bodies and replies look like, by the names that
 * routes have for them, with the words such tables are written with.
 */
#ifndef REMIT_OPENAPI_H
#define REMIT_OPENAPI_H

#include <jansson.h>
#include <stdbool.h>

#include "http/route.h"

/* Rows without a summary are left out. NULL: no memory. */
json_t *openapi_document(const struct route_table *tables);

/* ---- what bodies and replies look like ---- */

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
	/* It has no others than these; and of some only one. */
	bool is_closed, has_one;
	struct {
		const char *name, *schema;
		bool required;
	} members[MEMBERS_MAX];
};

/* One that is no object, or of which nothing more is said. */
struct openapi_other {
	const char *name, *schema;
};

#endif
