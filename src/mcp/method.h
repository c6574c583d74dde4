/*
 * mcp_method: the methods of the protocol: a table, and which era knows which.
 */
#ifndef REMIT_MCP_METHOD_H
#define REMIT_MCP_METHOD_H

#include "mcp/part.h"

/* Carry out a request: it is ended now, or by whoever works for it. */
void mcp_method_run(struct mcp_call *c);

#endif
