/*
 * mcp_file: the tools read_file, write_file and list_files, for the files of a
 * session. The operations run inside its jail, so that the policy applies.
 */
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "client/files/content_type.h"
#include "mcp/call.h"
#include "mcp/shown.h"
#include "mcp/tool.h"

/* The default length of a read. */
#define READ_BYTES ((size_t)1024 * 1024)
/* The largest length of a read, for the schema. */
#define READ_MOST_TEXT "16777216"

static const char *
text_of(const struct mcp_call *c, const char *key)
{
	return json_string_value(json_object_get(c->arguments, key));
}

static json_int_t
number_of(const struct mcp_call *c, const char *key, json_int_t otherwise)
{
	const json_t *value = json_object_get(c->arguments, key);

	return value ? json_integer_value(value) : otherwise;
}

/* ---- running a file task ---- */

static void
release_call(void *call)
{
	mcp_call_unref(call);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;

	(void)res;
	if (err)
		mcp_tool_refuse(c, err);
	mcp_call_unref(c);
}

static void
run_task(struct mcp_call *c, const struct remit_file_task *task,
	 const struct hosted_events *events)
{
	struct hosted_loan loan = { .release = release_call, .owner = c };
	struct remit_error err;

	mcp_call_ref(c); /* for the events */
	mcp_call_ref(c); /* for the loan */
	if (hosted_file(c->hosted, task, loan, events, c, &err) == 0)
		return;
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
	mcp_call_unref(c);
}

/* ---- reading ---- */

static json_t *
read_blocks(const char *type, const struct remit_file_answer *a)
{
	json_t *image = mcp_shown_image(type, a->bytes, a->len);

	return image ? json_pack("[o]", image) : NULL;
}

static void
on_read(void *user, const struct remit_file_answer *a)
{
	struct mcp_call *c = user;
	const struct remit_file_entry *file = &a->entries[0];
	unsigned long long offset =
		(unsigned long long)number_of(c, "offset", 0);
	const char *type = content_type(file->path, a->bytes, a->len);
	json_t *blocks = read_blocks(type, a);
	own_mem char *base64 = NULL;
	size_t len = a->len;
	bool is_text;

	/* The end of the piece may cut a character. */
	if (offset + len < file->size && text_is_cut(a->bytes, len))
		len = text_valid_prefix(a->bytes, len);
	is_text = text_valid_prefix(a->bytes, len) == len &&
		  !memchr(a->bytes, '\0', len);
	if (!is_text) {
		len = a->len;
		base64 = blocks ? NULL : base64_encode(a->bytes, len);
	}
	mcp_tool_answer(
		c,
		json_pack("{s:o, s:I, s:s, s:o, s:s?, s:I, s:b}", "path",
			  text_to_json(file->path, strlen(file->path)), "size",
			  (json_int_t)file->size, "content_type", type, "text",
			  is_text ? json_stringn(a->bytes, len) : json_null(),
			  "base64", base64, "length", (json_int_t)len, "more",
			  offset + len < file->size),
		blocks, false);
}

static void
read_in_session(struct mcp_call *c)
{
	static const struct hosted_events events = { .file = on_read,
						     .result = on_result };
	struct remit_file_task task = {
		.op = REMIT_FILE_READ,
		.path = text_of(c, "path"),
		.offset = (unsigned long long)number_of(c, "offset", 0),
		.length = (size_t)number_of(c, "length", READ_BYTES),
	};

	run_task(c, &task, &events);
}

static void
read_file(struct mcp_call *c)
{
	mcp_tool_enter(c, read_in_session);
}

static const struct mcp_member read_input[] = {
	{ .name = "session",
	  .schema = MCP_TEXT,
	  .text = "the session's handle" },
	{ .name = "path",
	  .schema = MCP_TEXT,
	  .text = "relative to the workspace, or absolute" },
	{ .name = "offset",
	  .schema = MCP_COUNT,
	  .text = "the first byte (default 0)",
	  .optional = true },
	{ .name = "length",
	  .schema = "{\"type\":\"integer\",\"minimum\":1,"
		    "\"maximum\":" READ_MOST_TEXT "}",
	  .text = "the most bytes to read (default 1 MiB)",
	  .optional = true },
	{ 0 },
};

static const struct mcp_member read_output[] = {
	{ .name = "path", .schema = MCP_TEXT },
	{ .name = "size",
	  .schema = MCP_COUNT,
	  .text = "size of the whole file" },
	{ .name = "content_type", .schema = MCP_TEXT },
	{ .name = "text",
	  .schema = MCP_TEXT_OR,
	  .text = "the content; null if it is not text" },
	{ .name = "base64",
	  .schema = MCP_TEXT_OR,
	  .text = "the content; null if it is text, or an image, which is a "
		  "separate content block" },
	{ .name = "length",
	  .schema = MCP_COUNT,
	  .text = "bytes in this piece" },
	{ .name = "more",
	  .schema = MCP_YES_NO,
	  .text = "true if the file has more bytes after this piece" },
	{ 0 },
};

const struct mcp_tool mcp_tool_read = {
	.name = "read_file",
	.title = "Read a file",
	.text = "Read a file of a session, or part of it.",
	.input = read_input,
	.output = read_output,
	.only_reads = true,
	.again = true,
	.begin = read_file,
};

/* ---- writing ---- */

static void
on_written(void *user, const struct remit_file_answer *a)
{
	struct mcp_call *c = user;
	const struct remit_file_entry *file = &a->entries[0];

	mcp_tool_answer(c,
			json_pack("{s:s, s:o, s:I}", "session",
				  hosted_id(c->hosted), "path",
				  text_to_json(file->path, strlen(file->path)),
				  "size", (json_int_t)file->size),
			NULL, false);
}

static void
write_in_session(struct mcp_call *c)
{
	static const struct hosted_events events = { .file = on_written,
						     .result = on_result };
	const json_t *text = json_object_get(c->arguments, "text");
	struct remit_file_task task = {
		.op = REMIT_FILE_WRITE,
		.path = text_of(c, "path"),
		.append = json_is_true(json_object_get(c->arguments, "append")),
		.bytes = text ? json_string_value(text) : c->work,
		.len = text ? json_string_length(text) : c->work_len,
	};

	run_task(c, &task, &events);
}

static void
write_file(struct mcp_call *c)
{
	const json_t *base64 = json_object_get(c->arguments, "base64");
	struct remit_error err;
	char *bytes;

	if (!base64 == !json_object_get(c->arguments, "text")) {
		fail(&err, REMIT_E_INPUT,
		     "arguments: a file must have either text or base64");
		mcp_tool_refuse(c, &err);
		return;
	}
	if (base64) {
		if (base64_decode(json_string_value(base64),
				  json_string_length(base64), &bytes,
				  &c->work_len) < 0) {
			fail(&err, REMIT_E_INPUT,
			     "arguments.base64: not valid base64");
			mcp_tool_refuse(c, &err);
			return;
		}
		c->work = bytes;
		c->free_work = free;
	}
	mcp_tool_enter(c, write_in_session);
}

static const struct mcp_member write_input[] = {
	{ .name = "session",
	  .schema = MCP_TEXT,
	  .text = "the session's handle, or \"new\"" },
	{ .name = "path",
	  .schema = MCP_TEXT,
	  .text = "relative to the workspace, or absolute; missing folders "
		  "are created" },
	{ .name = "text",
	  .schema = MCP_TEXT,
	  .text = "the content",
	  .optional = true },
	{ .name = "base64",
	  .schema = MCP_TEXT,
	  .text = "the content, if it is not text",
	  .optional = true },
	{ .name = "append",
	  .schema = MCP_YES_NO,
	  .text = "true: append to the file",
	  .optional = true },
	{ 0 },
};

static const struct mcp_member write_output[] = {
	{ .name = "session", .schema = MCP_TEXT },
	{ .name = "path", .schema = MCP_TEXT },
	{ .name = "size",
	  .schema = MCP_COUNT,
	  .text = "size of the whole file" },
	{ 0 },
};

const struct mcp_tool mcp_tool_write = {
	.name = "write_file",
	.title = "Write a file",
	.text = "Write a file of a session: replace it, or append to it.",
	.input = write_input,
	.output = write_output,
	.destroys = true,
	.begin = write_file,
};

/* ---- listing ---- */

static json_t *
show_time(long long ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char text[32];
	struct tm t;

	if (!gmtime_r(&seconds, &t) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t))
		return json_null();
	return json_string(text);
}

static json_t *
show_entry(const struct remit_file_entry *e)
{
	static const char *const types[] = {
		[REMIT_FILE_IS_REGULAR] = "file",
		[REMIT_FILE_IS_FOLDER] = "folder",
		[REMIT_FILE_IS_LINK] = "link",
		[REMIT_FILE_IS_OTHER] = "other",
	};

	return json_pack("{s:o, s:s, s:I, s:o}", "path",
			 text_to_json(e->path, strlen(e->path)), "type",
			 types[e->type], "size", (json_int_t)e->size,
			 "modified", show_time(e->modified_ns));
}

static void
on_listed(void *user, const struct remit_file_answer *a)
{
	struct mcp_call *c = user;
	json_t *list = json_array();

	for (size_t i = 0; i < a->entry_count; i++)
		json_array_append_new(list, show_entry(&a->entries[i]));
	mcp_tool_answer(c,
			json_pack("{s:o, s:b}", "files", list, "truncated",
				  a->truncated),
			NULL, false);
}

static void
list_in_session(struct mcp_call *c)
{
	static const struct hosted_events events = { .file = on_listed,
						     .result = on_result };
	const char *path = text_of(c, "path");
	struct remit_file_task task = {
		.op = REMIT_FILE_LIST,
		.path = path ? path : ".",
		.depth = (unsigned)number_of(c, "depth", 1),
	};

	run_task(c, &task, &events);
}

static void
list_files(struct mcp_call *c)
{
	mcp_tool_enter(c, list_in_session);
}

static const struct mcp_member list_input[] = {
	{ .name = "session",
	  .schema = MCP_TEXT,
	  .text = "the session's handle" },
	{ .name = "path",
	  .schema = MCP_TEXT,
	  .text = "the folder (default: the workspace)",
	  .optional = true },
	{ .name = "depth",
	  .schema = "{\"type\":\"integer\",\"minimum\":1,\"maximum\":64}",
	  .text = "how many levels of folders to list (default 1)",
	  .optional = true },
	{ 0 },
};

static const struct mcp_member list_output[] = {
	{ .name = "files",
	  .schema =
		  "{\"type\":\"array\",\"items\":{\"type\":\"object\","
		  "\"properties\":{\"path\":" MCP_TEXT ",\"type\":{\"enum\":["
		  "\"file\",\"folder\",\"link\",\"other\"]},\"size\":" MCP_COUNT
		  ",\"modified\":" MCP_TEXT_OR "},\"required\":[\"path\","
		  "\"type\",\"size\",\"modified\"]}}" },
	{ .name = "truncated",
	  .schema = MCP_YES_NO,
	  .text = "true if there are more files" },
	{ 0 },
};

const struct mcp_tool mcp_tool_list = {
	.name = "list_files",
	.title = "List files",
	.text = "List the files of a session.",
	.input = list_input,
	.output = list_output,
	.only_reads = true,
	.again = true,
	.begin = list_files,
};
