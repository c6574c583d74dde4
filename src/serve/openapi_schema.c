/*
 * openapi_schema: what bodies and replies look like, by the names that routes
 * have for them. A table of members, each with a JSON Schema of its own.
 */
#include "openapi.h"

#define ANY		 "{}"
#define TEXT		 "{\"type\":\"string\"}"
#define TEXT_OR		 "{\"type\":[\"string\",\"null\"]}"
#define COUNT		 "{\"type\":\"integer\",\"minimum\":0}"
#define WHOLE		 "{\"type\":\"integer\"}"
#define WHOLE_OR	 "{\"type\":[\"integer\",\"null\"]}"
#define NUMBER		 "{\"type\":\"number\"}"
#define NUMBER_OR	 "{\"type\":[\"number\",\"null\"]}"
#define YES_NO		 "{\"type\":\"boolean\"}"
#define YES_NO_OR	 "{\"type\":[\"boolean\",\"null\"]}"
#define OBJECT		 "{\"type\":\"object\"}"
#define OBJECT_OR	 "{\"type\":[\"object\",\"null\"]}"
#define LIST		 "{\"type\":\"array\"}"
#define REF(name)	 "{\"$ref\":\"#/components/schemas/" name "\"}"
#define LIST_OF(item)	 "{\"type\":\"array\",\"items\":" item "}"
#define LIST_OF_OR(item) "{\"type\":[\"array\",\"null\"],\"items\":" item "}"
#define ONE_OF(words)	 "{\"enum\":[" words "]}"
#define MAP_OF(type) \
	"{\"type\":\"object\",\"additionalProperties\":{\"type\":" type "}}"

#define MEMBERS_MAX 24

static const struct {
	const char *name;
	/* It has no others than these; and of some only one. */
	bool is_closed, has_one;
	struct {
		const char *name, *schema;
		bool required;
	} members[MEMBERS_MAX];
} shapes[] = {
	{ "Error", .members = { { "error", REF("Fault"), true },
				{ "result", OBJECT } } },
	{ "Fault", .members = { { "code", TEXT, true },
				{ "message", TEXT, true },
				{ "remedy", TEXT_OR },
				{ "where", TEXT_OR } } },
	{ "Nothing", .is_closed = true },
	/* ---- requests of the native API ---- */
	{ "File", .is_closed = true,
	  .members = { { "path", TEXT, true },
		       { "text", TEXT },
		       { "base64", TEXT } } },
	{ "Tool", .is_closed = true,
	  .members = { { "name", TEXT, true },
		       { "description", TEXT_OR },
		       { "schema", OBJECT_OR },
		       { "approval",
			 ONE_OF("\"never\",\"always\",\"first\",null") } } },
	{ "Run", .is_closed = true,
	  .members = { { "code", TEXT, true },
		       { "policy", OBJECT_OR },
		       { "name", TEXT_OR },
		       { "stdin", TEXT_OR },
		       { "argv", LIST_OF_OR(TEXT) },
		       { "files", LIST_OF_OR(REF("File")) },
		       { "tools", LIST_OF_OR(REF("Tool")) },
		       { "ask", YES_NO_OR },
		       { "stream", ONE_OF("\"ndjson\",\"sse\",null") } } },
	{ "Cell", .is_closed = true,
	  .members = { { "code", TEXT, true },
		       { "name", TEXT_OR },
		       { "stdin", TEXT_OR },
		       { "argv", LIST_OF_OR(TEXT) },
		       { "files", LIST_OF_OR(REF("File")) },
		       { "ask", YES_NO_OR },
		       { "stream", ONE_OF("\"ndjson\",\"sse\",null") },
		       { "context", TEXT_OR },
		       { "interactive", YES_NO_OR } } },
	{ "NewSession", .is_closed = true,
	  .members = { { "policy", OBJECT_OR },
		       { "tools", LIST_OF_OR(REF("Tool")) },
		       { "forkable", YES_NO_OR },
		       { "timeout",
			 "{\"type\":[\"number\",\"null\"],\"minimum\":1,"
			 "\"maximum\":86400}" } } },
	{ "Explain", .members = { { "policy", OBJECT_OR } } },
	{ "CallAnswer", .is_closed = true, .has_one = true,
	  .members = { { "result", ANY }, { "error", TEXT } } },
	{ "QuestionAnswer",
	  .members = { { "answer", ONE_OF("\"deny\",\"once\",\"run\""),
			 true } } },
	/* ---- replies of the native API ---- */
	{ "Result", .members = { { "id", TEXT, true },
				 { "status", TEXT, true },
				 { "tier", TEXT_OR, true },
				 { "exit_code", WHOLE_OR, true },
				 { "signal", WHOLE_OR, true },
				 { "stdout", TEXT, true },
				 { "stderr", TEXT, true },
				 { "error", OBJECT_OR, true },
				 { "usage", OBJECT_OR, true },
				 { "value", OBJECT_OR, true },
				 { "displays", LIST, true },
				 { "enforcement", LIST, true },
				 { "denials", LIST, true },
				 { "artifacts", LIST, true },
				 { "changes", LIST, true },
				 { "session", OBJECT_OR, true },
				 { "remit_version", TEXT, true } } },
	/* Nothing, if it was dropped. */
	{ "LastResult", .members = { { "id", TEXT }, { "status", TEXT } } },
	{ "Session",
	  .members = { { "id", TEXT, true },
		       { "created_at", TEXT, true },
		       { "expires_at", TEXT_OR, true },
		       { "state",
			 ONE_OF("\"opening\",\"idle\",\"busy\",\"ended\""),
			 true },
		       { "cells", COUNT, true },
		       { "waiting", COUNT, true },
		       { "forkable", YES_NO, true },
		       { "policy", OBJECT } } },
	{ "FileEntry",
	  .members = { { "path", TEXT, true },
		       { "type",
			 ONE_OF("\"file\",\"folder\",\"link\",\"other\""),
			 true },
		       { "size", COUNT, true },
		       { "modified", NUMBER, true } } },
	{ "Health",
	  .members = { { "status", ONE_OF("\"ok\",\"draining\""), true },
		       { "version", TEXT, true } } },
	/* ---- small doors ---- */
	{ "Plain", .is_closed = true, .members = { { "code", TEXT, true } } },
	{ "PlainAnswer", .members = { { "result", ANY },
				      { "error", TEXT },
				      { "stdout", TEXT, true },
				      { "stderr", TEXT, true } } },
	{ "PlainError", .members = { { "error", TEXT, true } } },
	{ "FusionCode",
	  .members = { { "code", TEXT, true },
		       { "language", ONE_OF("\"python\""), true },
		       { "stdin", TEXT_OR },
		       { "run_timeout", NUMBER },
		       { "compile_timeout", NUMBER },
		       { "memory_limit_MB", WHOLE },
		       { "files", MAP_OF("[\"string\",\"null\"]") },
		       { "fetch_files", LIST_OF(TEXT) } } },
	{ "FusionStage",
	  .members = { { "status", ONE_OF("\"Finished\",\"TimeLimitExceeded\""),
			 true },
		       { "execution_time", NUMBER, true },
		       { "return_code", WHOLE_OR, true },
		       { "stdout", TEXT, true },
		       { "stderr", TEXT, true } } },
	{ "FusionResult",
	  .members = { { "status", REF("FusionStatus"), true },
		       { "message", TEXT, true },
		       { "compile_result", "{\"type\":\"null\"}", true },
		       { "run_result",
			 "{\"anyOf\":[" REF("FusionStage") ","
							   "{\"type\":\"null\"}"
							   "]}",
			 true },
		       { "executor_pod_name", TEXT_OR, true },
		       { "files", MAP_OF("\"string\""), true } } },
	{ "FusionNotebook",
	  .members = { { "cells",
			 "{\"type\":\"array\",\"items\":" TEXT
			 ",\"minItems\":1,\"maxItems\":1000}",
			 true },
		       { "cell_timeout", NUMBER },
		       { "total_timeout", NUMBER },
		       { "memory_limit_MB", WHOLE },
		       { "kernel", ONE_OF("\"python3\"") },
		       { "files", MAP_OF("[\"string\",\"null\"]") },
		       { "fetch_files", LIST_OF(TEXT) } } },
	{ "FusionCell",
	  .members = { { "stdout", TEXT, true },
		       { "stderr", TEXT, true },
		       { "status", ONE_OF("\"ok\",\"error\""), true },
		       { "display", LIST_OF(OBJECT), true },
		       { "error", LIST_OF(OBJECT), true } } },
	{ "FusionCells",
	  .members = { { "status", REF("FusionStatus"), true },
		       { "message", TEXT, true },
		       { "driver",
			 "{\"anyOf\":[" REF("FusionStage") ","
							   "{\"type\":\"null\"}"
							   "]}",
			 true },
		       { "cells", LIST_OF(REF("FusionCell")), true },
		       { "executor_pod_name", TEXT_OR, true },
		       { "files", MAP_OF("\"string\""), true } } },
	{ "PistonFile",
	  .members = { { "name", TEXT_OR },
		       { "content", TEXT, true },
		       { "encoding",
			 ONE_OF("\"utf8\",\"base64\",\"hex\",null") } } },
	{ "PistonJob", .is_closed = true,
	  .members = { { "language", TEXT, true },
		       { "version", TEXT, true },
		       { "files", LIST_OF(REF("PistonFile")), true },
		       { "stdin", TEXT_OR },
		       { "args", LIST_OF_OR(TEXT) },
		       { "run_timeout", NUMBER_OR },
		       { "run_cpu_time", NUMBER_OR },
		       { "run_memory_limit", NUMBER_OR },
		       { "compile_timeout", NUMBER_OR },
		       { "compile_cpu_time", NUMBER_OR },
		       { "compile_memory_limit", NUMBER_OR } } },
	{ "PistonStage",
	  .members = { { "stdout", TEXT, true },
		       { "stderr", TEXT, true },
		       { "output", TEXT, true },
		       { "code", WHOLE_OR, true },
		       { "signal", TEXT_OR, true },
		       { "message", TEXT_OR, true },
		       { "status", ONE_OF("\"RE\",\"SG\",\"TO\",\"OL\",null"),
			 true },
		       { "cpu_time", NUMBER_OR, true },
		       { "wall_time", NUMBER_OR, true },
		       { "memory", WHOLE_OR, true } } },
	{ "PistonResult",
	  .members = { { "language", ONE_OF("\"python\""), true },
		       { "version", TEXT, true },
		       { "run", REF("PistonStage"), true } } },
	{ "PistonRuntime", .members = { { "language", TEXT, true },
					{ "version", TEXT, true },
					{ "aliases", LIST_OF(TEXT), true } } },
	{ "PistonError", .members = { { "message", TEXT, true } } },
};

/* Those that are no objects, or of which nothing more is said. */
static const struct {
	const char *name, *schema;
} others[] = {
	{ "Sessions", LIST_OF(REF("Session")) },
	{ "Plan", OBJECT },
	{ "Matrix", LIST_OF(OBJECT) },
	{ "Status", OBJECT },
	{ "Fields", LIST_OF(OBJECT) },
	{ "Document", OBJECT },
	{ "FusionStatus", ONE_OF("\"Success\",\"Failed\",\"SandboxError\"") },
	{ "PistonRuntimes", LIST_OF(REF("PistonRuntime")) },
};

static json_t *
read_json(const char *text)
{
	return json_loads(text, 0, NULL);
}

static json_t *
shape_json(size_t i)
{
	json_t *required = json_array(), *members = json_object();
	json_t *doc = json_pack("{s:s, s:o}", "type", "object", "properties",
				members);

	for (size_t k = 0; k < MEMBERS_MAX && shapes[i].members[k].name; k++) {
		const char *name = shapes[i].members[k].name;

		json_object_set_new(members, name,
				    read_json(shapes[i].members[k].schema));
		if (shapes[i].members[k].required)
			json_array_append_new(required, json_string(name));
	}
	if (json_array_size(required))
		json_object_set(doc, "required", required);
	json_decref(required);
	if (shapes[i].is_closed)
		json_object_set_new(doc, "additionalProperties", json_false());
	if (shapes[i].has_one) {
		json_object_set_new(doc, "minProperties", json_integer(1));
		json_object_set_new(doc, "maxProperties", json_integer(1));
	}
	return doc;
}

json_t *
openapi_schemas(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		json_object_set_new(all, shapes[i].name, shape_json(i));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		json_object_set_new(all, others[i].name,
				    read_json(others[i].schema));
	return all;
}
