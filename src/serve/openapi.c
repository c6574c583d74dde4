#include "openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "remit.h"

/* "{path...}" is "{path}" there. */
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
parameters_of(const char *path)
{
	json_t *list = json_array();

	while ((path = strchr(path, '{'))) {
		size_t len = strcspn(++path, "}");

		json_array_append_new(
			list, json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name",
					path, len, "in", "path", "required", 1,
					"schema", "type", "string"));
	}
	return list;
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
		bytes ? json_object() : json_pack("{s:s}", "type", "object"));
}

static json_t *
operation_of(const struct route *r, const char *path)
{
	json_t *o = json_pack(
		"{s:s, s:o, s:{s:{s:s}, s:{s:s, s:{s:{s:{s:s}}}}}}", "summary",
		r->summary, "parameters", parameters_of(path), "responses",
		"2XX", "description", "It went well", "default", "description",
		"It did not", "content", "application/json", "schema", "$ref",
		"#/components/schemas/Error");

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
	json_t *text = json_pack("{s:s}", "type", "string");

	return json_pack(
		"{s:{s:{s:s, s:s}, s:{s:s, s:s, s:s}}, "
		"s:{s:{s:s, s:[s], s:{s:{s:s, s:[s, s], s:{s:O, s:O, s:O, "
		"s:o}}}}}}",
		"securitySchemes", "bearer", "type", "http", "scheme", "bearer",
		"key", "type", "apiKey", "in", "header", "name", "X-API-Key",
		"schemas", "Error", "type", "object", "required", "error",
		"properties", "error", "type", "object", "required", "code",
		"message", "properties", "code", text, "message", text,
		"remedy", text, "where", text);
}

json_t *
openapi_document(const struct route_table *tables)
{
	json_t *paths = json_object();

	for (const struct route_table *t = tables; t; t = t->next)
		for (const struct route *r = t->rows; r->method; r++)
			if (r->summary)
				add_route(paths, r);
	return json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:[{s:[]}, {s:[]}]}",
			 "openapi", "3.1.0", "info", "title", "Remit",
			 "version", remit_version(), "paths", paths,
			 "components", components(), "security", "bearer",
			 "key");
}
