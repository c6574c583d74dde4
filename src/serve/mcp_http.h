/*
 * mcp_http: the Model Context Protocol over HTTP ("streamable HTTP"), at /mcp.
 *
 * Each message is a POST. The reply is one document, or a stream of events if
 * something is sent before the result. Up to 2025-11-25, `initialize` returns a
 * session id, which each further request names in a header; since 2026-07-28
 * each request is independent, and its headers repeat parts of its body. If a
 * client disconnects, its request is cancelled.
 */
#ifndef REMIT_MCP_HTTP_H
#define REMIT_MCP_HTTP_H

#include "serve/server.h"

extern const struct route mcp_routes[];

struct mcp_http;

/* Returns NULL if memory is exhausted. */
struct mcp_http *mcp_http_open(struct server *s);
/* Call it when no hosted session has work any more (after hosted_table_end()),
   and before the hosted sessions are freed. */
void mcp_http_free(struct mcp_http *d);

#endif
