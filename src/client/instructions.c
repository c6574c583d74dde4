/*
 * instructions: requests from the keeper what a model should know, and appends
 * the description of the tools.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "client/part.h"
#include "wire/record.h"

static const char intro[] = "\n## Tools\n\nThese functions are defined; there "
			    "is nothing to import:\n\n";
static const char outro[] =
	"\nWithout an event loop, a call waits and returns the result: `x = "
	"name(...)`. In code that uses `await`, each call must be awaited, and "
	"calls can run at the same time: `await asyncio.gather(name(...), "
	"name(...))`. `call_tool(\"name\", ...)` does the same. Arguments and "
	"results are JSON values. A tool that fails raises `ToolError`, which "
	"can be caught; its text is the reason. Prefer one program that calls "
	"tools in a loop to many programs.\n";

/* name(a, b=...) */
static int
add_signature(struct buf *out, const struct tool *tool)
{
	const char *name, *comma = "";
	json_t *part;

	if (buf_addf(out, "- `%s(", tool->given.name) < 0)
		return -1;
	json_object_foreach(json_object_get(tool->schema.root, "properties"),
			    name, part)
	{
		if (buf_addf(out, "%s%s%s", comma, name,
			     tools_needs(tool, name) ? "" : "=...") < 0)
			return -1;
		comma = ", ";
	}
	return buf_addf(out, "%s)`", tool->schema.root ? "" : "...");
}

static int
add_tool(struct buf *out, const struct tool *tool)
{
	own_mem char *schema =
		tool->schema.root
			? json_dumps(tool->schema.root,
				     JSON_COMPACT | JSON_REAL_PRECISION(15))
			: NULL;

	if (add_signature(out, tool) < 0 ||
	    (tool->given.description &&
	     buf_addf(out, ": %s", tool->given.description) < 0) ||
	    (tool->given.approval != REMIT_APPROVAL_NEVER &&
	     buf_addf(out,
		      " (A person must approve each call, and may refuse.)") <
		     0) ||
	    buf_addf(out, "\n") < 0)
		return -1;
	return schema ? buf_addf(out, "  Arguments by JSON Schema: `%s`\n",
				 schema)
		      : 0;
}

static int
add_tools(struct buf *out, const struct tools *tools, const struct buf *limits)
{
	/* In the tier "static" (no limits) no code runs that could call a
	   tool. */
	if (!tools->count || !limits->len)
		return 0;
	if (buf_addf(out, "%s", intro) < 0)
		return -1;
	for (size_t i = 0; i < tools->count; i++)
		if (add_tool(out, &tools->all[i]) < 0)
			return -1;
	return buf_addf(out, "%s%s", outro, buf_text(limits));
}

/* Wait for the next frame of the answer. */
static int
receive_frame(const struct remit *r, bool shared, struct link *l,
	      struct frame *f, struct remit_error *err)
{
	f->type = FRAME_NONE;
	do {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
		if (link_fill(l, err) < 0 ||
		    release_next(r, shared, l, f, err) < 0)
			return -1;
		if (l->ended && f->type == FRAME_NONE)
			return fail(err, REMIT_E_GONE, "the keeper is gone");
	} while (f->type == FRAME_NONE);
	return 0;
}

/* Fail with the error of a result: the keeper could not make a plan. */
static int
fail_from_result(const struct remit *r, bool shared, struct link *l,
		 struct frame *f, struct remit_error *err)
{
	const struct result_parts none = { 0 };
	struct remit_result *res = result_view_new(err);
	int failed = !res;

	if (!failed && f->type == FRAME_ENFORCEMENT)
		failed =
			result_view_enforce(res, f->payload, f->len, err) < 0 ||
			receive_frame(r, shared, l, f, err) < 0;
	if (!failed && f->type != FRAME_RESULT)
		failed = fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	if (!failed &&
	    result_view_finish(res, f->payload, f->len, &none, err) == 0)
		result_view_to_error(res, err);
	remit_result_free(res);
	return -1;
}

/* Read the two texts: instructions for code, and limits of calls. */
static int
read_instructions(const struct frame *f, struct buf *out, struct buf *limits,
		  struct remit_error *err)
{
	struct record text, tools;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	if (!record_next(f->payload, f->len, &at, &text) ||
	    !record_next(f->payload, f->len, &at, &tools))
		return fail(err, REMIT_E_PROTOCOL, "instructions are missing");
	if (buf_add(out, text.value, strlen(text.value)) < 0 ||
	    buf_add(limits, tools.value, strlen(tools.value)) < 0)
		return fail_memory(err, "instructions");
	return 0;
}

static int
request_instructions(struct remit *r, bool shared, const char *policy_json,
		     int session, struct buf *out, struct buf *limits,
		     struct remit_error *err)
{
	own(link) struct link l = LINK_INIT;
	const char *policy = policy_json ? policy_json : "{}";
	struct frame f = { .type = FRAME_NONE };
	int fd = connection_open(r, shared, err);

	if (fd < 0)
		return -1;
	link_open(&l, fd, PARTY_KEEPER);
	if (link_send(&l, FRAME_POLICY, policy, strlen(policy), err) < 0 ||
	    link_send(&l, FRAME_INSTRUCTIONS, session ? "session" : "run",
		      session ? 7 : 3, err) < 0 ||
	    link_flush(&l, err) < 0 ||
	    receive_frame(r, shared, &l, &f, err) < 0)
		return -1;
	if (f.type != FRAME_INSTRUCTIONS)
		return fail_from_result(r, shared, &l, &f, err);
	return read_instructions(&f, out, limits, err);
}

int
remit_instructions(struct remit *r, const char *policy_json,
		   const struct remit_tool *tools, size_t tool_count,
		   int session, char **text, struct remit_error *err)
{
	own(buf) struct buf out = BUF_INIT(64 * 1024 * 1024);
	own(buf) struct buf limits = BUF_INIT(64 * 1024);
	own(tools) struct tools all = { 0 };
	int failed;

	if (tools_open(&all, tools, tool_count, err) < 0)
		return -1;
	failed = request_instructions(r, r->keeper_path != NULL, policy_json,
				      session, &out, &limits, err);
	/* As for runs: if the shared keeper was not chosen by the caller and
	   cannot do this, use a private one. */
	if (failed && err->code == REMIT_E_ELSEWHERE && r->found)
		failed = client_need_private(r, err) < 0 ||
			 request_instructions(r, false, policy_json, session,
					      &out, &limits, err) < 0;
	if (failed)
		return -1;
	if (add_tools(&out, &all, &limits) < 0)
		return fail_memory(err, "instructions");
	*text = take_ptr(&out.data);
	return 0;
}
