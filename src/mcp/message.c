#include "mcp/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define WRITING (JSON_COMPACT | JSON_REAL_PRECISION(15))

void
mcp_fault_free(struct mcp_fault *f)
{
	json_decref(f->data);
	f->data = NULL;
}

int
mcp_fail(struct mcp_fault *f, enum mcp_code code, const char *fmt, ...)
{
	va_list args;

	f->code = code;
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
	return -1;
}

static bool
is_id(const json_t *id)
{
	return json_is_integer(id) ||
	       (json_is_string(id) && json_string_length(id) <= MCP_ID_MAX);
}

static int
read_call(struct mcp_message *m, struct mcp_fault *fault)
{
	json_t *method = json_object_get(m->doc, "method");

	if (!json_is_string(method))
		return mcp_fail(fault, MCP_E_REQUEST,
				"the method must be a string");
	m->method = json_string_value(method);
	m->params = json_object_get(m->doc, "params");
	if (m->params && !json_is_object(m->params))
		return mcp_fail(fault, MCP_E_PARAMS,
				"params must be an object");
	m->kind = m->id ? MCP_REQUEST : MCP_NOTIFICATION;
	return 0;
}

static int
read_response(struct mcp_message *m, struct mcp_fault *fault)
{
	json_t *error = json_object_get(m->doc, "error");

	m->kind = MCP_RESPONSE;
	m->result = json_object_get(m->doc, "result");
	if (!m->id || !m->result == !error ||
	    (m->result && !json_is_object(m->result)) ||
	    (error && !json_is_object(error)))
		return mcp_fail(fault, MCP_E_REQUEST,
				"this is neither a request, a notification "
				"nor a response");
	return 0;
}

int
mcp_message_read(struct mcp_message *m, const char *bytes, size_t len,
		 struct mcp_fault *fault)
{
	struct json_shape shape;
	json_error_t where;
	const char *version;
	json_t *id;

	*m = (struct mcp_message){ 0 };
	if (len > MCP_MESSAGE_MAX)
		return mcp_fail(fault, MCP_E_REQUEST,
				"a message must not have more than %zu bytes",
				MCP_MESSAGE_MAX);
	shape = json_shape_of(bytes, len);
	if (shape.depth > MCP_DEPTH_MAX)
		return mcp_fail(fault, MCP_E_PARSE,
				"a message must not have more than %d levels",
				MCP_DEPTH_MAX);
	if (shape.values > JSON_VALUES_MAX)
		return mcp_fail(fault, MCP_E_PARSE,
				"a message must not have more than %d values",
				JSON_VALUES_MAX);
	m->doc = json_loadb(bytes, len,
			    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
	if (!m->doc)
		return mcp_fail(fault, MCP_E_PARSE,
				"not valid JSON: %s, at byte %d", where.text,
				where.position);
	if (!json_is_object(m->doc))
		return mcp_fail(fault, MCP_E_REQUEST,
				"a message must be one object; batches are not "
				"supported");
	id = json_object_get(m->doc, "id");
	if (id && !is_id(id))
		return mcp_fail(fault, MCP_E_REQUEST,
				"an id must be an integer, or a string of at "
				"most %d bytes",
				MCP_ID_MAX);
	m->id = id;
	version = json_string_value(json_object_get(m->doc, "jsonrpc"));
	if (!version || strcmp(version, "2.0") != 0)
		return mcp_fail(fault, MCP_E_REQUEST,
				"jsonrpc must be \"2.0\"");
	return json_object_get(m->doc, "method") ? read_call(m, fault)
						 : read_response(m, fault);
}

void
mcp_message_free(struct mcp_message *m)
{
	json_decref(m->doc);
	*m = (struct mcp_message){ 0 };
}

json_t *
mcp_message_meta(const struct mcp_message *m, const char *key)
{
	return json_object_get(json_object_get(m->params, "_meta"), key);
}

/* ---- writing ---- */

static char *
write_down(json_t *doc)
{
	char *text = doc ? json_dumps(doc, WRITING) : NULL;

	json_decref(doc);
	return text;
}

char *
mcp_write_result(json_t *id, json_t *result)
{
	return write_down(json_pack("{s:s, s:O, s:O}", "jsonrpc", "2.0", "id",
				    id, "result", result));
}

/* id is NULL if it could not be read. The text may quote invalid UTF-8 or be
   cut in the middle of a character, so text_to_json() cleans it. */
char *
mcp_write_error(json_t *id, const struct mcp_fault *fault)
{
	return write_down(
		json_pack("{s:s, s:O*, s:{s:i, s:o, s:O*}}", "jsonrpc", "2.0",
			  "id", id, "error", "code", fault->code, "message",
			  text_to_json(fault->text, strlen(fault->text)),
			  "data", fault->data));
}

char *
mcp_write_notice(const char *id, const char *method, json_t *params)
{
	return write_down(json_pack("{s:s, s:s*, s:s, s:o}", "jsonrpc", "2.0",
				    "id", id, "method", method, "params",
				    params));
}
