/*
 * route: which function answers which request. Routes are rows of tables; each
 * API of the server (native, E2B, MCP, page) hangs its own table in.
 */
#ifndef REMIT_ROUTE_H
#define REMIT_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

struct exchange;

/* What a request may bring. */
enum route_body {
	BODY_NONE,
	BODY_JSON,  /* exchange_json() */
	BODY_MAYBE, /* the same, or nothing: then an empty object */
	BODY_BYTES, /* exchange_body(), of any type */
};

#define ROUTE_JSON_BYTES ((size_t)96 * 1024 * 1024)
#define ROUTE_PARAMS_MAX 4

/* A parameter in the query, for the OpenAPI document. */
struct route_query {
	const char *name, *type, *text;
	bool required;
};

struct route {
	const char *method; /* GET answers HEAD as well */
	/* "/v1/runs/{id}/artifacts/{path...}": a name in braces takes one
	   segment, with dots the rest, which may be empty. */
	const char *pattern;
	/* Called by the thread of HTTP when all of the request is there: it
	   must not wait. It replies now, or keeps the exchange by
	   exchange_ref() and replies later, from any thread. */
	void (*serve)(struct exchange *x);
	enum route_body body;
	size_t body_max; /* bytes; 0: ROUTE_JSON_BYTES */
	/* Not asked for a key: nothing is to be learnt here, or the function
	   asks for something else. */
	bool is_open;
	/* Then, if not NULL, asked before the body is read. False: the reply is
	   there. */
	bool (*admits)(struct exchange *x);
	bool while_draining; /* answered also when the server is ending */
	/* Not NULL: whether the row is meant at all (by host name, header or
	   port). What is not meant is looked for further on. */
	bool (*applies)(const struct exchange *x);
	/* ---- for the OpenAPI document; schemas are named by
	   openapi.c ---- */
	const char *summary;		   /* NULL: not in it */
	const struct route_query *queries; /* up to one without a name */
	const char *request_schema;	   /* the body; NULL: any object */
	const char *reply_schema; /* the reply; NULL: of the type below */
	const char *type;	  /* if that is no JSON */
	const char *error_schema; /* its own form of errors, besides "Error" */
	int status;		  /* if it goes well; 0: 200 */
	bool streams;		  /* the reply may be a stream of events */
};

/* A table; its rows end with one that has no method. */
struct route_table {
	struct route_table *next;
	const struct route *rows;
};

struct route_param {
	const char *name; /* in the pattern, without its end */
	size_t name_len;
	const char *value; /* in the path, not decoded */
	size_t value_len;
};

/* Whether a path (without its query) is one of the pattern's. */
bool route_matches(const char *pattern, const char *path,
		   struct route_param params[ROUTE_PARAMS_MAX], size_t *count);

/*
 * The row for a request. NULL: there is none; then *allowed says which methods
 * others have for this path, as a header would ("GET, PUT"; "" for none).
 */
const struct route *route_find(const struct route_table *tables,
			       const struct exchange *x, const char *method,
			       const char *path,
			       struct route_param params[ROUTE_PARAMS_MAX],
			       size_t *count, char allowed[64]);

/* %XX decoded, a new string; NULL: it is not well written, has a NUL in it, or
   there is no memory. `plus`: "+" is a blank, as in queries. */
char *route_decode(const char *text, size_t len, bool plus);

#endif
