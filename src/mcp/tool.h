/*
 * mcp_tool: the tools that a model may call: a table of what they are called,
 * take, give and do.
 *
 * Arguments are checked by the schema that the client was shown. What is wrong
 * with them, and what fails, is told in a result that says so, for the model
 * to try again; errors of the protocol are for clients.
 */
#ifndef REMIT_MCP_TOOL_H
#define REMIT_MCP_TOOL_H

#include "mcp/part.h"

/* A member of a tool's arguments or of its answer. */
struct mcp_member {
	const char *name;
	const char *schema; /* JSON */
	const char *text;   /* what it is, or NULL */
	bool optional;
};

struct mcp_tool {
	const char *name, *title, *text;
	bool has_guide;			  /* the plan's words behind the text */
	const struct mcp_member *input;	  /* up to one without a name */
	const struct mcp_member *output;  /* likewise */
	bool only_reads, destroys, again; /* for the annotations */
	/* Ends the call, now or later. */
	void (*begin)(struct mcp_call *c);
};

int mcp_toolbox_open(struct mcp_toolbox **out, const struct policy *policy,
		     const char *guide, struct remit_error *err) must_check;
void mcp_toolbox_free(struct mcp_toolbox *b);
/* As tools/list tells them, a new array. */
json_t *mcp_toolbox_list(const struct mcp_toolbox *b,
			 const struct mcp_version *v);

/* The method tools/call. */
void mcp_tool_call(struct mcp_call *c);

/* End a call by what the tool gives, with blocks for people and models behind
   it (or NULL); consumes both. */
void mcp_tool_answer(struct mcp_call *c, json_t *given, json_t *blocks,
		     bool is_error);
/* End a call by a sentence that says why not. A session that it opened is
   gone, since nobody was told its name. */
void mcp_tool_refuse(struct mcp_call *c, const struct remit_error *err);

/* What a new room is like. -1: there may be none. */
int mcp_tool_hosted(struct mcp_call *c, struct hosted_options *opt,
		    struct remit_error *err) must_check;
/* The session that the arguments name becomes the call's room. */
int mcp_tool_find_hosted(struct mcp_call *c,
			 struct remit_error *err) must_check;
/*
 * A session for the call: the one its arguments name, or a new one. Then
 * `next` is called, by any thread, with the room in the call; or the call is
 * ended.
 */
void mcp_tool_enter(struct mcp_call *c, void (*next)(struct mcp_call *c));

/* The tools, each with its file. */
extern const struct mcp_tool mcp_tool_run, mcp_tool_reset, mcp_tool_close,
	mcp_tool_read, mcp_tool_write, mcp_tool_list, mcp_tool_policy;

/* For their tables. */
#define MCP_TEXT    "{\"type\":\"string\"}"
#define MCP_TEXT_OR "{\"type\":[\"string\",\"null\"]}"
#define MCP_COUNT   "{\"type\":\"integer\",\"minimum\":0}"
#define MCP_YES_NO  "{\"type\":\"boolean\"}"

#endif
