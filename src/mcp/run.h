/*
 * mcp_run: the tool run_python, and what its answer is like, which is also that
 * of a session that is closed.
 */
#ifndef REMIT_MCP_RUN_H
#define REMIT_MCP_RUN_H

#include "mcp/shown.h"
#include "mcp/tool.h"

extern const struct mcp_member mcp_run_gives[];

/* End the call by a result. The session is named if it can be gone on with. */
void mcp_run_answer(struct mcp_call *c, struct remit_result *res,
		    const struct mcp_shown *shown, const char *session);

#endif
