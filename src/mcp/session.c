/*
 * mcp_session: the tools reset_session and close_session.
 */
#include "mcp/call.h"
#include "mcp/run.h"

static const struct mcp_member takes[] = {
	{ .name = "session", .schema = MCP_TEXT, .text = "its handle" },
	{ 0 },
};

/* ---- reset ---- */

static void
on_reset(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;

	(void)res;
	if (err)
		mcp_tool_refuse(c, err);
	else
		mcp_tool_answer(c,
				json_pack("{s:s, s:s}", "session",
					  hosted_id(c->hosted), "session_state",
					  "open"),
				NULL, false);
	mcp_call_unref(c);
}

static void
reset(struct mcp_call *c)
{
	static const struct hosted_events events = { .result = on_reset };
	struct remit_error err;

	mcp_call_ref(c);
	if (mcp_tool_find_hosted(c, &err) == 0 &&
	    hosted_reset(c->hosted, &events, c, &err) == 0)
		return;
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

static const struct mcp_member reset_gives[] = {
	{ .name = "session", .schema = MCP_TEXT },
	{ .name = "session_state", .schema = MCP_TEXT },
	{ 0 },
};

const struct mcp_tool mcp_tool_reset = {
	.name = "reset_session",
	.title = "Reset a session",
	.text = "Give a session a fresh jail: its variables, imports and files "
		"are gone, its handle stays.",
	.takes = takes,
	.gives = reset_gives,
	.destroys = true,
	.again = true,
	.begin = reset,
};

/* ---- close ---- */

static void
on_closed(void *user, struct remit_result *res, const struct remit_error *err)
{
	static const struct mcp_shown nothing;
	struct mcp_call *c = user;

	if (err)
		mcp_tool_refuse(c, err);
	else
		mcp_run_answer(c, res, &nothing, NULL);
	mcp_call_unref(c);
}

static void
close_it(struct mcp_call *c)
{
	static const struct hosted_events events = { .result = on_closed };
	struct remit_error err;

	mcp_call_ref(c);
	if (mcp_tool_find_hosted(c, &err) == 0 &&
	    hosted_close(c->hosted, &events, c, &err) == 0)
		return;
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

const struct mcp_tool mcp_tool_close = {
	.name = "close_session",
	.title = "Close a session",
	.text = "End a session properly, which is when files and changes that "
		"the policy lets out leave its jail. One that nobody uses is "
		"ended after a while, and nothing leaves it.",
	.takes = takes,
	.gives = mcp_run_gives,
	.destroys = true,
	.begin = close_it,
};
