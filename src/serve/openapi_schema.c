/*
 * openapi_schema: what bodies and replies look like, by the names that routes
 * have for them. A table of members, each with a JSON Schema of its own.
 */
#include "serve/compat/foreign.h"
#include "serve/openapi.h"

static const struct openapi_shape shapes[] = {
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
	{ "Sessions", LIST_OF(REF("Session")) },
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
	if (shape->has_one) {
		json_object_set_new(doc, "minProperties", json_integer(1));
		json_object_set_new(doc, "maxProperties", json_integer(1));
	}
	return doc;
}

json_t *
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
