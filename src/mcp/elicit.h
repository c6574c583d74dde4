/*
 * mcp_elicit: asks the client's user for permissions that the code needs.
 *
 * Up to 2025-11-25 the server sends a request to the client, and the response
 * is the answer. In later revisions the server cannot send requests: the result
 * of the call is the question, and the call is parked, while its program waits,
 * until the client repeats the request with the answer. If the client does not
 * support this, the answer is no.
 */
#ifndef REMIT_MCP_ELICIT_H
#define REMIT_MCP_ELICIT_H

#include "mcp/part.h"

/* The event `question` of a hosted session. */
void mcp_elicit_question(void *call, const char *id,
			 const struct remit_question *q);
/* Handle a response of the client. */
void mcp_elicit_response(struct mcp_peer *p, const struct mcp_message *msg);
/* Returns true if the call was the continuation of a parked one. Then it has
   ended. */
bool mcp_elicit_resume(struct mcp_call *c);

#endif
