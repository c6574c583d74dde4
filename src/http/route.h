/*
 * route: tables that map a request to the function that answers it. Each API of
 * the server (native, E2B, MCP, page) registers its own table.
 */
#ifndef REMIT_ROUTE_H
#define REMIT_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

struct exchange;

/* The body that a route accepts. */
enum route_body {
	BODY_NONE,
	BODY_JSON,  /* exchange_json() */
	BODY_MAYBE, /* the same, or empty, which counts as {} */
	BODY_BYTES, /* exchange_body(), of any type */
};

#define ROUTE_JSON_BYTES ((size_t)96 * 1024 * 1024)
#define ROUTE_PARAMS_MAX 4

/* A query parameter, for the OpenAPI document. */
struct route_query {
	const char *name, *schema, *text;
	bool required;
};

struct route {
	const char *method; /* GET also answers HEAD; "*" matches all */
	/* "/v1/runs/{id}/artifacts/{path...}": a name in braces matches one
	   segment; with dots it matches the rest of the path, which may be
	   empty. */
	const char *pattern;
	/* Called by the HTTP thread when the request is complete; it must
	   not block. It replies immediately, or keeps the exchange with
	   exchange_ref() and replies later from any thread. */
	void (*serve)(struct exchange *x);
	enum route_body body;
	size_t body_max; /* bytes; 0: ROUTE_JSON_BYTES */
	/* The body may have "Content-Encoding: gzip"; it is not decoded. */
	bool takes_gzip;
	/* `serve` is called before the body is read, and replies with an error
	   or reply_relay(). Such requests may come from pages of any origin,
	   since the server does not act on them. */
	bool relays;
	/* No key is required: the reply contains nothing secret, or the
	   function checks something else. */
	bool is_open;
	/* If not NULL, called before the body is read. Returns false after
	   it has sent a refusal. */
	bool (*admits)(struct exchange *x);
	/* If not NULL, replies with errors that are found before `serve` is
	   called, in the form that clients of this API parse. */
	void (*fail)(struct exchange *x, int status, const char *message);
	bool while_draining; /* also answered during shutdown */
	/* If not NULL, whether the row applies to this request (by host
	   name, header or port). If not, the search continues with later
	   rows. */
	bool (*applies)(const struct exchange *x);
	/* ---- for the OpenAPI document; openapi.c defines the schemas ---- */
	const char *summary;		   /* NULL: not in the document */
	const struct route_query *queries; /* ends with a row without a name */
	const char *request_schema;	   /* of the body; NULL: any object */
	const char *reply_schema; /* NULL: the reply has the type below */
	const char *type;	  /* of a reply that is not JSON */
	const char *error_schema; /* besides "Error" */
	int status;		  /* on success; 0 means 200 */
	bool streams;		  /* the reply may be a stream of events */
};

/* A table of rows; the last row has no method. */
struct route_table {
	struct route_table *next;
	const struct route *rows;
};

struct route_param {
	const char *name; /* points into the pattern */
	size_t name_len;
	const char *value; /* points into the path, still encoded */
	size_t value_len;
};

/* Whether a path (without its query) matches the pattern. */
bool route_matches(const char *pattern, const char *path,
		   struct route_param params[ROUTE_PARAMS_MAX], size_t *count);

/*
 * Finds the row for a request. If there is none, returns NULL and sets
 * `allowed` to the methods of the rows that match this path, in the form of an
 * Allow header ("GET, PUT"; "" if no row matches).
 */
const struct route *route_find(const struct route_table *tables,
			       const struct exchange *x, const char *method,
			       const char *path,
			       struct route_param params[ROUTE_PARAMS_MAX],
			       size_t *count, char allowed[64]);

/* Decodes %XX into a new string; with `plus`, "+" becomes a blank, as in
   queries. Returns NULL if the text is malformed, contains a NUL, or if
   memory is exhausted. */
char *route_decode(const char *text, size_t len, bool plus);

#endif
