/*
 * mcp_headers: headers that repeat what a message of the Model Context Protocol
 * says, since 2026-07-28, so that others on the way need not read it.
 */
#ifndef REMIT_MCP_HEADERS_H
#define REMIT_MCP_HEADERS_H

#include "mcp/message.h"
#include "serve/exchange.h"

#define MCP_HEADER_VERSION "Mcp-Protocol-Version"
#define MCP_META_VERSION   "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAN	   "io.modelcontextprotocol/clientCapabilities"

/* Whether a request names its revision, in the message or by a header. */
bool mcp_headers_are_stateless(const struct exchange *x,
			       const struct mcp_message *msg);
/* -1: a header is not what the message says. */
int mcp_headers_check(const struct exchange *x, const struct mcp_message *msg,
		      struct mcp_fault *fault) must_check;

#endif
