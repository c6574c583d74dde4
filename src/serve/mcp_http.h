/*
 * mcp_http: the Model Context Protocol over HTTP ("streamable HTTP"), at /mcp.
 *
 * Each message is a POST. The reply is one document, or a stream of events if
 * there is something to tell before the end. Up to 2025-11-25 `initialize`
 * gives a session, which each further request names by a header; since
 * 2026-07-28 each request stands for itself, and its headers repeat what is in
 * its body. A client that goes away cancels its request.
 */
#ifndef REMIT_MCP_HTTP_H
#define REMIT_MCP_HTTP_H

#include "serve/server.h"

extern const struct route mcp_routes[];

struct mcp_http;

/* NULL without memory. */
struct mcp_http *mcp_http_open(struct server *s);
/* When no room works any more (hosted_table_end), and before the hosted
 * sessions are freed. */
void mcp_http_free(struct mcp_http *d);

#endif
