/*
 * mcp_elicit: what the code wants and a person must allow, asked of the client.
 *
 * Up to 2025-11-25 the client is sent a request, and its response is the
 * answer. Since then a server asks nothing: the request is answered by the
 * question, and the call is parked, with its program waiting, until the client
 * comes back with the same request and the answer. Who cannot ask is told
 * nothing, and the answer is no.
 */
#ifndef REMIT_MCP_ELICIT_H
#define REMIT_MCP_ELICIT_H

#include "mcp/part.h"

/* The event of a hosted session. */
void mcp_elicit_question(void *call, const char *id,
			 const struct remit_question *q);
/* A response of the client's. */
void mcp_elicit_response(struct mcp_peer *p, const struct mcp_message *msg);
/* True: the request was the continuation of another one, and is over. */
bool mcp_elicit_resume(struct mcp_call *c);

#endif
