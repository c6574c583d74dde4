/*
 * mcp_method: the methods of the protocol: a table, and which era knows which;
 * and the revisions of the protocol that are spoken.
 *
 * Up to 2025-11-25 a connection begins with `initialize`, which agrees on one.
 * From 2026-07-28 on each request names its own, and nothing is remembered
 * from one to the next.
 */
#ifndef REMIT_MCP_METHOD_H
#define REMIT_MCP_METHOD_H

#include <jansson.h>
#include <stdbool.h>

struct mcp_version {
	const char *name;
	bool stateless;	  /* named by each request */
	bool structured;  /* tools have titles, output schemas, links */
	bool annotations; /* tools say what they do */
};

/* NULL: it is not known. */
const struct mcp_version *mcp_version_find(const char *name);
/* What `initialize` is answered with: the one that was asked for, or else the
   newest that begins so. */
const struct mcp_version *mcp_version_agree(const char *wanted);
/* Those that a request may name, a new array; NULL without memory. */
json_t *mcp_version_stateless(void);

struct mcp_call;

/* Carry out a request: it is ended now, or by whoever works for it. */
void mcp_method_run(struct mcp_call *c);

#endif
