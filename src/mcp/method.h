/*
 * mcp_method: the tables of the protocol's methods and of the supported
 * revisions.
 *
 * Up to 2025-11-25 a connection begins with `initialize`, which negotiates the
 * revision. Since 2026-07-28 each request names its revision, and the
 * connection has no state.
 */
#ifndef REMIT_MCP_METHOD_H
#define REMIT_MCP_METHOD_H

#include <jansson.h>
#include <stdbool.h>

struct mcp_version {
	const char *name;
	bool stateless;	  /* each request names the revision */
	bool structured;  /* tools have titles, output schemas, links */
	bool annotations; /* tools have annotations about their effects */
};

/* Returns the revision, or NULL if it is unknown. */
const struct mcp_version *mcp_version_find(const char *name);
/* Returns the revision for the answer of `initialize`: the requested one if it
   is supported and has a handshake, else the newest one with a handshake. */
const struct mcp_version *mcp_version_agree(const char *wanted);
/* Returns the revisions that a request may name as a new array; NULL without
   memory. */
json_t *mcp_version_stateless(void);

struct mcp_call;

/* Execute a request. It ends in this call, or later by the thread that works
   for it. */
void mcp_method_run(struct mcp_call *c);

#endif
