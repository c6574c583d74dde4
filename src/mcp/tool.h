/*
 * mcp_tool: the table of tools that a model may call: names, input, output and
 * functions.
 *
 * Arguments are checked against the schema that the client has received.
 * Invalid arguments and failures become a result with isError, so that the
 * model can try again. Errors of the protocol are only for clients.
 */
#ifndef REMIT_MCP_TOOL_H
#define REMIT_MCP_TOOL_H

#include "mcp/part.h"

/* A member of a tool's input or output. */
struct mcp_member {
	const char *name;
	const char *schema; /* JSON */
	const char *text;   /* the description, or NULL */
	bool optional;
};

struct mcp_tool {
	const char *name, *title, *text;
	bool has_guide;			  /* append the guide to the text */
	const struct mcp_member *input;	  /* ends with a nameless member */
	const struct mcp_member *output;  /* ends with a nameless member */
	bool only_reads, destroys, again; /* for the annotations */
	/* Ends the call, now or later. */
	void (*begin)(struct mcp_call *c);
};

int mcp_toolbox_open(struct mcp_toolbox **out, const struct policy *policy,
		     const char *guide, struct remit_error *err) must_check;
void mcp_toolbox_free(struct mcp_toolbox *b);
/* Returns the tools for tools/list as a new array. */
json_t *mcp_toolbox_list(const struct mcp_toolbox *b,
			 const struct mcp_version *v);

/* The method tools/call. */
void mcp_tool_call(struct mcp_call *c);

/* End a call with the output of the tool, followed by content blocks (or NULL).
   Takes ownership of both. */
void mcp_tool_answer(struct mcp_call *c, json_t *given, json_t *blocks,
		     bool is_error);
/* End a call with an error message. A session that was opened for the call is
   dropped, since the client does not know its id. */
void mcp_tool_refuse(struct mcp_call *c, const struct remit_error *err);

/* Fill in the options of a new hosted session. Fails if no further one may
   start. */
int mcp_tool_hosted(struct mcp_call *c, struct hosted_options *opt,
		    struct remit_error *err) must_check;
/* Set the call's hosted session to the one that the arguments name. */
int mcp_tool_find_hosted(struct mcp_call *c,
			 struct remit_error *err) must_check;
/*
 * Find the session that the arguments name, or open a new one. Then `next` is
 * called, by any thread, with the session in the call; if that fails, the call
 * is ended.
 */
void mcp_tool_enter(struct mcp_call *c, void (*next)(struct mcp_call *c));

/* The tools. */
extern const struct mcp_tool mcp_tool_run, mcp_tool_reset, mcp_tool_close,
	mcp_tool_read, mcp_tool_write, mcp_tool_list, mcp_tool_policy;

/* Schemas for the tables of tools. */
#define MCP_TEXT    "{\"type\":\"string\"}"
#define MCP_TEXT_OR "{\"type\":[\"string\",\"null\"]}"
#define MCP_COUNT   "{\"type\":\"integer\",\"minimum\":0}"
#define MCP_YES_NO  "{\"type\":\"boolean\"}"

#endif
