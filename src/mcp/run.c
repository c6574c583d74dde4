/*
 * mcp_run: the tools run_python, reset_session and close_session. The answers
 * of run_python and close_session have the same form.
 */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "client/result_view.h"
#include "mcp/call.h"
#include "mcp/elicit.h"
#include "mcp/resource.h"
#include "mcp/shown.h"
#include "mcp/tool.h"

/* The data of a call of run_python, until its program has ended. */
struct run {
	struct hosted_job job;
	struct remit_file *files;
	size_t file_count; /* files so far, whose bytes are owned */
	struct mcp_shown shown;
};

static void
run_free(void *work)
{
	struct run *r = work;

	for (size_t i = 0; i < r->file_count; i++)
		free((char *)r->files[i].bytes);
	free(r->files);
	mcp_shown_free(&r->shown);
	free(r);
}

/* ---- the answer ---- */

#define ROWS(members, required)                                              \
	"{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":" \
	"{" members "},\"required\":[" required "]}}"

static const struct mcp_member mcp_run_output[] = {
	{ .name = "status",
	  .schema = MCP_TEXT,
	  .text = "ok, error (an exception), exit (sys.exit), timeout, "
		  "cpu_limit, memory_limit, output_limit, killed, interrupted, "
		  "rejected (by the validator, did not run), install_failed, "
		  "refused, busy or internal" },
	{ .name = "session",
	  .schema = MCP_TEXT_OR,
	  .text = "the session's handle; null for a separate program" },
	{ .name = "session_state",
	  .schema = "{\"enum\":[\"open\",\"ended\",null]}",
	  .text = "ended: variables and files are lost; use reset_session for "
		  "a fresh jail" },
	{ .name = "exit_code", .schema = "{\"type\":[\"integer\",\"null\"]}" },
	{ .name = "stdout", .schema = MCP_TEXT },
	{ .name = "stderr", .schema = MCP_TEXT },
	{ .name = "stdout_truncated", .schema = MCP_YES_NO },
	{ .name = "stderr_truncated", .schema = MCP_YES_NO },
	{ .name = "value",
	  .schema = MCP_TEXT_OR,
	  .text = "the repr of the last expression" },
	{ .name = "displays",
	  .schema =
		  ROWS("\"text\":" MCP_TEXT_OR
		       ",\"types\":{\"type\":\"array\",\"items\":" MCP_TEXT "}",
		       "\"text\",\"types\""),
	  .text = "what the program displayed; images are separate content "
		  "blocks" },
	{ .name = "error",
	  .schema =
		  "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\","
		  "\"properties\":{\"name\":" MCP_TEXT_OR
		  ",\"value\":" MCP_TEXT_OR
		  ",\"line\":{\"type\":[\"integer\",\"null\"]},"
		  "\"remedy\":" MCP_TEXT_OR "},"
		  "\"required\":[\"name\",\"value\",\"line\",\"remedy\"]}]}" },
	{ .name = "denials",
	  .schema = ROWS("\"what\":" MCP_TEXT ",\"count\":" MCP_COUNT
			 ",\"field\":" MCP_TEXT_OR,
			 "\"what\",\"count\",\"field\""),
	  .text = "what the code tried but the policy does not allow" },
	{ .name = "artifacts",
	  .schema = ROWS("\"path\":" MCP_TEXT ",\"uri\":" MCP_TEXT
			 ",\"size\":" MCP_COUNT ",\"content_type\":" MCP_TEXT,
			 "\"path\",\"uri\",\"size\",\"content_type\""),
	  .text = "files that the program exported; read them with "
		  "resources/read" },
	{ .name = "usage",
	  .schema = "{\"type\":\"object\",\"properties\":{"
		    "\"wall_ms\":{\"type\":[\"number\",\"null\"]},"
		    "\"cpu_ms\":{\"type\":[\"number\",\"null\"]},"
		    "\"memory_peak_bytes\":{\"type\":[\"integer\",\"null\"]}},"
		    "\"required\":[\"wall_ms\",\"cpu_ms\",\"memory_peak_"
		    "bytes\"]}" },
	{ 0 },
};

/* Returns a member or null, as a new reference. */
static json_t *
member_or_null(const json_t *doc, const char *key)
{
	json_t *value = json_object_get(doc, key);

	return value ? json_incref(value) : json_null();
}

static json_t *
error_of(const json_t *doc)
{
	const json_t *e = json_object_get(doc, "error");

	if (!json_is_object(e))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "name",
			 member_or_null(e, "name"), "value",
			 member_or_null(e, "value"), "line",
			 member_or_null(e, "line"), "remedy",
			 member_or_null(e, "remedy"));
}

static json_t *
denials_of(const json_t *doc)
{
	json_t *list = json_array(), *d;
	size_t i;

	json_array_foreach(json_object_get(doc, "denials"), i, d)
	{
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o}", "what",
					member_or_null(d, "what"), "count",
					member_or_null(d, "count"), "field",
					member_or_null(d, "field")));
	}
	return list;
}

static json_t *
artifacts_of(const json_t *doc, const char *id)
{
	json_t *list = json_array(), *a;
	size_t i;

	json_array_foreach(json_object_get(doc, "artifacts"), i, a)
	{
		const char *path =
			json_string_value(json_object_get(a, "path"));

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o}", "path", path, "uri",
				  mcp_resource_uri("artifacts", id, path),
				  "size", member_or_null(a, "size_bytes"),
				  "content_type",
				  member_or_null(a, "content_type")));
	}
	return list;
}

/* Add the artifacts as resource links, too. */
static void
add_links(json_t *blocks, const json_t *artifacts)
{
	json_t *a;
	size_t i;

	json_array_foreach(artifacts, i, a)
	{
		json_array_append_new(
			blocks,
			json_pack("{s:s, s:O, s:O, s:O, s:O}", "type",
				  "resource_link", "uri",
				  json_object_get(a, "uri"), "name",
				  json_object_get(a, "path"), "mimeType",
				  json_object_get(a, "content_type"), "size",
				  json_object_get(a, "size")));
	}
}

static json_t *
usage_of(const json_t *doc)
{
	const json_t *u = json_object_get(doc, "usage");

	return json_pack("{s:o, s:o, s:o}", "wall_ms",
			 member_or_null(u, "wall_ms"), "cpu_ms",
			 member_or_null(u, "cpu_ms"), "memory_peak_bytes",
			 member_or_null(u, "memory_peak_bytes"));
}

static bool
went_wrong(const json_t *doc)
{
	const char *status = json_string_value(json_object_get(doc, "status"));
	const json_t *code = json_object_get(doc, "exit_code");

	if (status && !strcmp(status, "exit"))
		return json_integer_value(code) != 0;
	return !status || strcmp(status, "ok") != 0;
}

/* End the call with a result. `session` is the handle if the session can be
   used further, else NULL. */
static void
mcp_run_answer(struct mcp_call *c, struct remit_result *res,
	       const struct mcp_shown *shown, const char *session)
{
	const json_t *doc = result_view_document(res);
	const json_t *state = json_object_get(doc, "session");
	json_t *blocks =
		shown->images ? json_incref(shown->images) : json_array();
	json_t *artifacts = artifacts_of(doc, hosted_id(c->hosted));
	json_t *given;

	if (c->version->structured)
		add_links(blocks, artifacts);
	given = json_pack(
		"{s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:O?, s:o, s:o, "
		"s:o, s:o, s:o}",
		"status", member_or_null(doc, "status"), "session", session,
		"session_state",
		session ? member_or_null(state, "state") : json_null(),
		"exit_code", member_or_null(doc, "exit_code"), "stdout",
		member_or_null(doc, "stdout"), "stderr",
		member_or_null(doc, "stderr"), "stdout_truncated",
		member_or_null(doc, "stdout_truncated"), "stderr_truncated",
		member_or_null(doc, "stderr_truncated"), "value", shown->value,
		"displays",
		shown->displays ? json_incref(shown->displays) : json_array(),
		"error", error_of(doc), "denials", denials_of(doc), "artifacts",
		artifacts, "usage", usage_of(doc));
	mcp_tool_answer(c, given, blocks, went_wrong(doc));
}

/* ---- events ---- */

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	(void)stream;
	mcp_call_progress(user, bytes, len);
}

static void
on_progress(void *user, const char *line, size_t len)
{
	mcp_call_progress(user, line, len);
}

static void
on_display(void *user, const struct remit_display *d)
{
	struct mcp_call *c = user;
	struct run *r = c->work;

	mcp_shown_add(&r->shown, d);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;
	struct run *r = c->work;

	if (err)
		mcp_tool_refuse(c, err);
	else
		mcp_run_answer(c, res, &r->shown,
			       json_object_get(c->arguments, "session")
				       ? hosted_id(c->hosted)
				       : NULL);
	mcp_call_unref(c);
}

static const struct hosted_events events = {
	.begin = mcp_call_enter,
	.output = on_output,
	.display = on_display,
	.progress = on_progress,
	.question = mcp_elicit_question,
	.result = on_result,
};

/* ---- the program ---- */

static void
release_call(void *call)
{
	mcp_call_unref(call);
}

static int
parse_file(struct run *r, size_t i, const json_t *file, struct remit_error *err)
{
	const json_t *text = json_object_get(file, "text");
	const json_t *base64 = json_object_get(file, "base64");
	struct remit_file *f = &r->files[i];
	char *bytes;

	if (!text == !base64)
		return fail(err, REMIT_E_INPUT,
			    "arguments.files[%zu]: a file must have either "
			    "text or base64",
			    i);
	f->path = json_string_value(json_object_get(file, "path"));
	if (base64) {
		if (base64_decode(json_string_value(base64),
				  json_string_length(base64), &bytes,
				  &f->len) < 0)
			return fail(
				err, REMIT_E_INPUT,
				"arguments.files[%zu].base64: not valid base64",
				i);
	} else {
		f->len = json_string_length(text);
		bytes = malloc(f->len + 1);
		if (!bytes)
			return fail_memory(err, "file");
		memcpy(bytes, json_string_value(text), f->len + 1);
	}
	f->bytes = bytes;
	r->file_count++;
	return 0;
}

static int
parse_files(struct run *r, const json_t *files, struct remit_error *err)
{
	json_t *file;
	size_t i;

	if (!json_array_size(files))
		return 0;
	r->files = calloc(json_array_size(files), sizeof(*r->files));
	if (!r->files)
		return fail_memory(err, "files");
	json_array_foreach(files, i, file)
	{
		if (parse_file(r, i, file, err) < 0)
			return -1;
	}
	return 0;
}

static int
read_arguments(struct mcp_call *c, struct run *r, struct remit_error *err)
{
	const json_t *code = json_object_get(c->arguments, "code");
	const json_t *timeout = json_object_get(c->arguments, "timeout");
	struct remit_job *job = &r->job.job;

	*job = (struct remit_job)REMIT_JOB_INIT;
	job->code = json_string_value(code);
	job->code_len = json_string_length(code);
	/* Round up, so that a timeout below a millisecond does not become 0,
	   which would mean the policy's timeout. */
	if (timeout)
		job->timeout_ms =
			number_whole(json_number_value(timeout) * 1000 + 0.999);
	if (parse_files(r, json_object_get(c->arguments, "files"), err) < 0)
		return -1;
	job->files = r->files;
	job->file_count = r->file_count;
	r->job.loan =
		(struct hosted_loan){ .release = release_call, .owner = c };
	return 0;
}

/* Run the program in the call's session. */
static void
run_cell(struct mcp_call *c)
{
	struct run *r = c->work;
	struct remit_error err;
	uint64_t number;

	mcp_call_ref(c); /* for the events */
	mcp_call_ref(c); /* for the loan */
	if (hosted_cell(c->hosted, &r->job, &events, c, &number, &err) == 0) {
		mcp_call_number(c, number);
		return;
	}
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
	mcp_call_unref(c);
}

static void
run_alone(struct mcp_call *c)
{
	struct run *r = c->work;
	struct hosted_options opt;
	struct remit_error err;
	struct hosted *hosted;

	mcp_call_ref(c);
	mcp_call_ref(c);
	c->made_hosted = true;
	if (mcp_tool_hosted(c, &opt, &err) == 0 &&
	    hosted_run(c->mcp->hosted_table, &opt, &r->job, &events, c, &hosted,
		       &err) == 0) {
		mcp_call_enter(c, hosted);
		hosted_unref(hosted);
		return;
	}
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
	mcp_call_unref(c);
}

static void
run_python(struct mcp_call *c)
{
	struct run *r = calloc(1, sizeof(*r));
	struct remit_error err;

	if (!r) {
		mcp_call_finish(c, NULL);
		return;
	}
	c->work = r;
	c->free_work = run_free;
	if (read_arguments(c, r, &err) < 0)
		mcp_tool_refuse(c, &err);
	else if (json_object_get(c->arguments, "session"))
		mcp_tool_enter(c, run_cell);
	else
		run_alone(c);
}

static const struct mcp_member input[] = {
	{ .name = "code", .schema = MCP_TEXT, .text = "the program" },
	{ .name = "session",
	  .schema = MCP_TEXT,
	  .text = "\"new\", or the handle of a session, in which variables, "
		  "imports and files stay from one program to the next. By "
		  "default the program runs in a fresh jail.",
	  .optional = true },
	{ .name = "timeout",
	  .schema = "{\"type\":\"number\",\"exclusiveMinimum\":0}",
	  .text = "seconds; at most the timeout of the policy, which is the "
		  "default",
	  .optional = true },
	{ .name = "files",
	  .schema = "{\"type\":\"array\",\"maxItems\":1000,\"items\":{\"type\":"
		    "\"object\","
		    "\"properties\":{\"path\":" MCP_TEXT ",\"text\":" MCP_TEXT
		    ",\"base64\":" MCP_TEXT "},\"required\":[\"path\"],"
		    "\"additionalProperties\":false}}",
	  .text = "files to put into the workspace: each has a path, and its "
		  "content as text or base64",
	  .optional = true },
	{ 0 },
};

const struct mcp_tool mcp_tool_run = {
	.name = "run_python",
	.title = "Run Python",
	.text = "Run a Python program in a jail and get its output, the value "
		"of its last expression, images and errors. Without a session, "
		"the following applies:",
	.has_guide = true,
	.input = input,
	.output = mcp_run_output,
	.begin = run_python,
};

/* ---- the tools reset_session and close_session ---- */

static const struct mcp_member session_input[] = {
	{ .name = "session", .schema = MCP_TEXT, .text = "its handle" },
	{ 0 },
};

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
reset_session(struct mcp_call *c)
{
	static const struct hosted_events reset_events = { .result = on_reset };
	struct remit_error err;

	mcp_call_ref(c);
	if (mcp_tool_find_hosted(c, &err) == 0 &&
	    hosted_reset(c->hosted, &reset_events, c, &err) == 0)
		return;
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

static const struct mcp_member reset_output[] = {
	{ .name = "session", .schema = MCP_TEXT },
	{ .name = "session_state", .schema = MCP_TEXT },
	{ 0 },
};

const struct mcp_tool mcp_tool_reset = {
	.name = "reset_session",
	.title = "Reset a session",
	.text = "Give a session a fresh jail: its variables, imports and files "
		"are lost, its handle stays valid.",
	.input = session_input,
	.output = reset_output,
	.destroys = true,
	.again = true,
	.begin = reset_session,
};

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
close_session(struct mcp_call *c)
{
	static const struct hosted_events close_events = { .result =
								   on_closed };
	struct remit_error err;

	mcp_call_ref(c);
	if (mcp_tool_find_hosted(c, &err) == 0 &&
	    hosted_close(c->hosted, &close_events, c, &err) == 0)
		return;
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

const struct mcp_tool mcp_tool_close = {
	.name = "close_session",
	.title = "Close a session",
	.text = "Close a session: files and changes that the policy allows to "
		"leave the jail are written now. An unused session ends after "
		"some time without writing anything.",
	.input = session_input,
	.output = mcp_run_output,
	.destroys = true,
	.begin = close_session,
};
