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

/* Strings of C have no NUL, and the JSON parser accepts none in keys, and no
   whole numbers beyond 64 bits. */
#define NO_NUL	       "\"pattern\":\"^[^\\\\u0000]*$\""
#define KEYS	       "\"propertyNames\":{" NO_NUL "}"
#define INT64_MIN_TEXT "-9223372036854775808"
#define INT64_MAX_TEXT "9223372036854775807"

#define IN_64_BITS                        \
	"\"minimum\":" INT64_MIN_TEXT "," \
	"\"maximum\":" INT64_MAX_TEXT

#define ANY	       REF("Json")
#define TEXT	       "{\"type\":\"string\"}"
#define TEXT_OR	       "{\"type\":[\"string\",\"null\"]}"
#define NAME	       "{\"type\":\"string\"," NO_NUL "}"
#define NAME_OR	       "{\"type\":[\"string\",\"null\"]," NO_NUL "}"
#define NAME_NOT_EMPTY "{\"type\":\"string\",\"minLength\":1," NO_NUL "}"
#define BASE64                                                     \
	"{\"type\":\"string\",\"pattern\":\"" BASE64_PATTERN "\"," \
	"\"contentEncoding\":\"base64\"}"
#define BASE64_OR                                                             \
	"{\"type\":[\"string\",\"null\"],\"pattern\":\"" BASE64_PATTERN "\"," \
	"\"contentEncoding\":\"base64\"}"
#define BASE64_PATTERN                                    \
	"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|" \
	"[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
/* A file in the workspace: relative or below /workspace, without "..". */
#define FILE_PATH_PATTERN                                         \
	"\"pattern\":\"^(?:/+(?:\\\\./+)*workspace/(?:\\\\.?/)*|" \
	"(?:\\\\./+)*)(?!\\\\.{1,2}(?:/|$))[^/\\\\u0000]{1,255}"  \
	"(?:/+(?!\\\\.\\\\.(?:/|$))[^/\\\\u0000]{1,255})*/*$\""
#define FILE_PATH   "{\"type\":\"string\"," FILE_PATH_PATTERN "}"
#define COUNT	    "{\"type\":\"integer\",\"minimum\":0}"
#define UP_TO(most) "{\"type\":\"integer\",\"minimum\":0,\"maximum\":" most "}"
#define WHOLE	    "{\"type\":\"integer\"}"
#define WHOLE_OR    "{\"type\":[\"integer\",\"null\"]}"
#define NUMBER	    "{\"type\":\"number\"}"
#define NUMBER_OR   "{\"type\":[\"number\",\"null\"]}"
#define YES_NO	    "{\"type\":\"boolean\"}"
#define YES_NO_OR   "{\"type\":[\"boolean\",\"null\"]}"
#define OBJECT	    "{\"type\":\"object\"}"
#define OBJECT_OR   "{\"type\":[\"object\",\"null\"]}"
/* An object that a client sends. */
#define JSON_OBJECT_OR \
	"{\"type\":[\"object\",\"null\"]," KEYS "," JSON_VALUES "}"
#define JSON_VALUES	 "\"additionalProperties\":" REF("Json")
#define LIST		 "{\"type\":\"array\"}"
#define REF(name)	 "{\"$ref\":\"#/components/schemas/" name "\"}"
#define LIST_OF(item)	 "{\"type\":\"array\",\"items\":" item "}"
#define LIST_OF_OR(item) "{\"type\":[\"array\",\"null\"],\"items\":" item "}"
#define FEW_OF_OR(item, most)                                \
	"{\"type\":[\"array\",\"null\"],\"items\":" item "," \
	"\"maxItems\":" most "}"
#define ONE_OF(words) "{\"enum\":[" words "]}"
#define MAP_OF(type) \
	"{\"type\":\"object\",\"additionalProperties\":{\"type\":" type "}}"
#define FILES_BY_PATH \
	"{\"type\":\"object\",\"additionalProperties\":" BASE64_OR "," KEYS "}"
/* Seconds, or other numbers, with more members of the schema. */
#define NUMBER_WITH(more)    "{\"type\":\"number\"," more "}"
#define NUMBER_OR_WITH(more) "{\"type\":[\"number\",\"null\"]," more "}"

#define MEMBERS_MAX 24

struct openapi_shape {
	const char *name;
	/* No other members are allowed; exactly one of them is given. */
	bool is_closed, has_one;
	/* Members of which exactly one is given, besides others; NULL: any. */
	const char *either[2];
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
