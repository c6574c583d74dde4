#include "serve/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "remit.h"
#include "serve/compat/foreign.h"

/* ---- schemas of bodies and replies ---- */

/* The columns or rows of a terminal. */
#define SIDE "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}"

/* Tables of members, each with its JSON Schema. */
static const struct openapi_shape shapes[] = {
	{ "Error", .members = { { "error", REF("Fault"), true },
				{ "result", OBJECT } } },
	{ "Fault", .members = { { "code", TEXT, true },
				{ "message", TEXT, true },
				{ "remedy", TEXT_OR },
				{ "where", TEXT_OR } } },
	{ "Nothing", .is_closed = true },
	/* ---- requests of the native API ---- */
	{ "File", .is_closed = true, .either = { "text", "base64" },
	  .members = { { "path", FILE_PATH, true },
		       { "text", TEXT },
		       { "base64", BASE64 } } },
	{ "Tool", .is_closed = true,
	  .members = { { "name",
			 "{\"type\":\"string\",\"pattern\":"
			 "\"^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$\"}",
			 true },
		       { "description", NAME_OR },
		       { "schema", JSON_OBJECT_OR },
		       { "approval",
			 ONE_OF("\"never\",\"always\",\"first\",null") } } },
	{ "Run", .is_closed = true,
	  .members = { { "code", TEXT, true },
		       { "policy", JSON_OBJECT_OR },
		       { "name", NAME_OR },
		       { "stdin", TEXT_OR },
		       { "argv", FEW_OF_OR(NAME, "1000") },
		       { "files", FEW_OF_OR(REF("File"), "10000") },
		       { "tools", FEW_OF_OR(REF("Tool"), "256") },
		       { "ask", YES_NO_OR },
		       { "stream", ONE_OF("\"ndjson\",\"sse\",null") } } },
	{ "Cell", .is_closed = true,
	  .members = { { "code", TEXT, true },
		       { "name", NAME_OR },
		       { "stdin", TEXT_OR },
		       { "argv", FEW_OF_OR(NAME, "1000") },
		       { "files", FEW_OF_OR(REF("File"), "10000") },
		       { "ask", YES_NO_OR },
		       { "stream", ONE_OF("\"ndjson\",\"sse\",null") },
		       { "context", NAME_OR },
		       { "interactive", YES_NO_OR } } },
	{ "NewSession", .is_closed = true,
	  .members = { { "policy", JSON_OBJECT_OR },
		       { "tools", FEW_OF_OR(REF("Tool"), "256") },
		       { "forkable", YES_NO_OR },
		       { "commands", YES_NO_OR },
		       { "timeout",
			 "{\"type\":[\"number\",\"null\"],\"minimum\":1,"
			 "\"maximum\":86400}" } } },
	{ "NewCommand", .is_closed = true,
	  .members = { { "argv",
			 "{\"type\":\"array\",\"items\":" NAME
			 ",\"minItems\":1,\"maxItems\":10000}",
			 true },
		       { "cwd", NAME_OR },
		       { "env", "{\"type\":[\"object\",\"null\"],"
				"\"additionalProperties\":" NAME
				",\"propertyNames\":{\"pattern\":"
				"\"^[^=\\u0000]+$\"},\"maxProperties\":1000}" },
		       { "terminal",
			 "{\"anyOf\":[" REF(
				 "TerminalSize") ",{\"type\":\"null\"}]}" },
		       { "stdin", YES_NO_OR },
		       { "timeout", NUMBER_OR_WITH("\"minimum\":0.001,"
						   "\"maximum\":86400") },
		       { "stream", ONE_OF("\"ndjson\",\"sse\",null") } } },
	{ "TerminalSize", .is_closed = true,
	  .members = { { "columns", SIDE, true }, { "rows", SIDE, true } } },
	{ "CommandInput", .is_closed = true, .either = { "text", "base64" },
	  .members = { { "text", TEXT },
		       { "base64", BASE64 },
		       { "end", YES_NO } } },
	{ "Explain", .members = { { "policy", JSON_OBJECT_OR } } },
	{ "CallAnswer", .is_closed = true, .has_one = true,
	  .members = { { "result", ANY }, { "error", NAME } } },
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
				 { "installed", LIST, true },
				 { "session", OBJECT_OR, true },
				 { "remit_version", TEXT, true } } },
	/* Empty if the session was dropped. */
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
	{ "Command", .members = { { "id", TEXT, true },
				  { "pid", COUNT, true },
				  { "argv", LIST_OF(TEXT), true },
				  { "terminal", YES_NO, true } } },
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
	/* ---- small APIs ---- */
	{ "Plain", .is_closed = true, .members = { { "code", TEXT, true } } },
	{ "PlainAnswer", .members = { { "result", ANY },
				      { "error", TEXT },
				      { "stdout", TEXT, true },
				      { "stderr", TEXT, true } } },
	{ "PlainError", .members = { { "error", TEXT, true } } },
	{ 0 },
};

static const struct openapi_other others[] = {
	/* Any JSON that the server can parse. */
	{ "Json",
	  "{\"anyOf\":["
	  "{\"type\":[\"string\",\"boolean\",\"null\"]},"
	  "{\"type\":\"integer\"," IN_64_BITS "},"
	  "{\"type\":\"number\",\"not\":{\"type\":\"integer\"}},"
	  "{\"type\":\"array\",\"items\":" REF(
		  "Json") "},"
			  "{\"type\":\"object\"," KEYS "," JSON_VALUES "}]}" },
	{ "Sessions", LIST_OF(REF("Session")) },
	{ "Commands", LIST_OF(REF("Command")) },
	{ "Plan", OBJECT },
	{ "Matrix", LIST_OF(OBJECT) },
	{ "Status", OBJECT },
	{ "Fields", LIST_OF(OBJECT) },
	{ "Document", OBJECT },
	{ 0 },
};

static json_t *
read_json(const char *text)
{
	return json_loads(text, 0, NULL);
}

static json_t *
shape_json(const struct openapi_shape *shape)
{
	json_t *required = json_array(), *members = json_object();
	json_t *doc = json_pack("{s:s, s:o}", "type", "object", "properties",
				members);

	for (size_t k = 0; k < MEMBERS_MAX && shape->members[k].name; k++) {
		const char *name = shape->members[k].name;

		json_object_set_new(members, name,
				    read_json(shape->members[k].schema));
		if (shape->members[k].required)
			json_array_append_new(required, json_string(name));
	}
	if (json_array_size(required))
		json_object_set(doc, "required", required);
	json_decref(required);
	if (shape->is_closed)
		json_object_set_new(doc, "additionalProperties", json_false());
	if (shape->either[0])
		json_object_set_new(doc, "oneOf",
				    json_pack("[{s:[s]}, {s:[s]}]", "required",
					      shape->either[0], "required",
					      shape->either[1]));
	if (shape->has_one) {
		json_object_set_new(doc, "minProperties", json_integer(1));
		json_object_set_new(doc, "maxProperties", json_integer(1));
	}
	return doc;
}

/* Returns all schemas by name. */
static json_t *
openapi_schemas(void)
{
	const struct openapi_shape *const shape_tables[] = { shapes,
							     foreign_shapes };
	const struct openapi_other *const other_tables[] = { others,
							     foreign_others };
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_LEN(shape_tables); i++)
		for (const struct openapi_shape *s = shape_tables[i]; s->name;
		     s++)
			json_object_set_new(all, s->name, shape_json(s));
	for (size_t i = 0; i < ARRAY_LEN(other_tables); i++)
		for (const struct openapi_other *o = other_tables[i]; o->name;
		     o++)
			json_object_set_new(all, o->name, read_json(o->schema));
	return all;
}

/* ---- routes ---- */

/* Converts "{path...}" to "{path}". */
static void
path_of(const char *pattern, char *out, size_t size)
{
	size_t n = 0;

	for (; *pattern && n + 1 < size; pattern++)
		if (strncmp(pattern, "...", 3) != 0)
			out[n++] = *pattern;
		else
			pattern += 2;
	out[n] = '\0';
}

static json_t *
parameters_of(const struct route *r, const char *path)
{
	json_t *list = json_array();

	while ((path = strchr(path, '{'))) {
		size_t len = strcspn(++path, "}");

		json_array_append_new(
			list, json_pack("{s:s%, s:s, s:b, s:o}", "name", path,
					len, "in", "path", "required", 1,
					"schema", read_json(NAME_NOT_EMPTY)));
	}
	for (const struct route_query *q = r->queries; q && q->name; q++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:b, s:o}", "name",
					q->name, "in", "query", "description",
					q->text, "required", q->required,
					"schema", read_json(q->schema)));
	return list;
}

static json_t *
schema_ref(const char *name)
{
	return json_pack("{s:o}", "$ref",
			 json_sprintf("#/components/schemas/%s", name));
}

static json_t *
body_of(const struct route *r)
{
	bool bytes = r->body == BODY_BYTES;

	return json_pack(
		"{s:b, s:{s:{s:o}}}", "required", r->body == BODY_JSON,
		"content",
		bytes ? "application/octet-stream" : "application/json",
		"schema",
		bytes		    ? json_object()
		: r->request_schema ? schema_ref(r->request_schema)
				    : json_pack("{s:s}", "type", "object"));
}

/* ---- replies ---- */

static json_t *
good_reply(const struct route *r)
{
	static const char *const streams[] = { "application/x-ndjson",
					       "text/event-stream" };
	json_t *types = json_object();

	json_object_set_new(
		types, r->reply_schema ? "application/json" : r->type,
		r->reply_schema ? json_pack("{s:o}", "schema",
					    schema_ref(r->reply_schema))
				: json_object());
	for (size_t i = 0; r->streams && i < ARRAY_LEN(streams); i++)
		json_object_set_new(types, streams[i], json_object());
	return json_pack("{s:s, s:o}", "description", "Success", "content",
			 types);
}

static json_t *
bad_reply(const struct route *r, const char *why)
{
	json_t *schema = r->error_schema
				 ? json_pack("{s:[o, o]}", "anyOf",
					     schema_ref(r->error_schema),
					     schema_ref("Error"))
				 : schema_ref("Error");

	return json_pack("{s:s, s:{s:{s:o}}}", "description", why, "content",
			 "application/json", "schema", schema);
}

static bool
is_any(const struct route *r)
{
	return r != NULL;
}

static bool
needs_key(const struct route *r)
{
	return !r->is_open;
}

static bool
has_body(const struct route *r)
{
	return r->body != BODY_NONE;
}

static bool
names_something(const struct route *r)
{
	return strchr(r->pattern, '{') != NULL;
}

static bool
has_file(const struct route *r)
{
	return strstr(r->pattern, "/files") != NULL;
}

static bool
has_file_or_body(const struct route *r)
{
	return has_file(r) || has_body(r);
}

static const struct {
	const char *status, *why;
	bool (*has)(const struct route *r);
} failures[] = {
	{ "400", "The request is not valid", is_any },
	{ "401", "A key is required", needs_key },
	{ "403", "The key, the jail or the server does not allow it", is_any },
	{ "404", "It does not exist, or no longer", names_something },
	{ "409", "It has ended, or is of another kind", names_something },
	{ "413", "The body or the file is too large", has_file_or_body },
	{ "415", "The body has the wrong type", has_body },
	{ "421", "The server does not accept this host name", is_any },
	{ "422", "The policy cannot be enforced here", has_body },
	{ "429", "A limit or a rate is exceeded", is_any },
	{ "500", "The server or the machine failed", is_any },
	{ "502", "The keeper failed", is_any },
	{ "503", "The server is shutting down", is_any },
	{ "507", "The jail's disk space is used up", has_file },
};

static json_t *
replies_of(const struct route *r)
{
	char good[12];
	json_t *all = json_object();

	snprintf(good, sizeof(good), "%d", r->status ? r->status : 200);
	json_object_set_new(all, good, good_reply(r));
	for (size_t i = 0; i < ARRAY_LEN(failures); i++)
		if (failures[i].has(r))
			json_object_set_new(all, failures[i].status,
					    bad_reply(r, failures[i].why));
	return all;
}

static json_t *
operation_of(const struct route *r, const char *path)
{
	json_t *o = json_pack("{s:s, s:o, s:o}", "summary", r->summary,
			      "parameters", parameters_of(r, path), "responses",
			      replies_of(r));

	if (r->body != BODY_NONE)
		json_object_set_new(o, "requestBody", body_of(r));
	if (r->is_open)
		json_object_set_new(o, "security", json_array());
	return o;
}

static void
add_route(json_t *paths, const struct route *r)
{
	char path[256], method[16];
	json_t *item;
	size_t n = 0;

	path_of(r->pattern, path, sizeof(path));
	item = json_object_get(paths, path);
	if (!item) {
		item = json_object();
		json_object_set_new(paths, path, item);
	}
	for (; r->method[n] && n + 1 < sizeof(method); n++)
		method[n] = (char)tolower((unsigned char)r->method[n]);
	method[n] = '\0';
	json_object_set_new(item, method, operation_of(r, path));
}

static json_t *
components(void)
{
	return json_pack("{s:{s:{s:s, s:s}, s:{s:s, s:s, s:s}}, s:o}",
			 "securitySchemes", "bearer", "type", "http", "scheme",
			 "bearer", "key", "type", "apiKey", "in", "header",
			 "name", "X-API-Key", "schemas", openapi_schemas());
}

json_t *
openapi_document(const struct route_table *tables)
{
	json_t *paths = json_object();

	for (const struct route_table *t = tables; t; t = t->next)
		for (const struct route *r = t->rows; r->method; r++)
			if (r->summary)
				add_route(paths, r);
	return json_pack(
		"{s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:[{s:[]}, {s:[]}]}",
		"openapi", "3.1.0", "info", "title", "Remit", "version",
		remit_version(), "description", foreign_sentence, "paths",
		paths, "components", components(), "security", "bearer", "key");
}
