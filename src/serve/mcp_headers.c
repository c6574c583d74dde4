#include "serve/mcp_headers.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mcp/version.h"

/* "=?base64?...?=" stands for what a header cannot hold. */
static bool
header_is(const struct exchange *x, const char *name, const char *want)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	struct http_text h = exchange_header(x, name);
	own_mem char *bytes = NULL;
	size_t len;

	if (!h.text)
		return false;
	if (h.len >= strlen(begin) + strlen(end) &&
	    !strncmp(h.text, begin, strlen(begin)) &&
	    !strncmp(h.text + h.len - 2, end, 2)) {
		if (base64_decode(h.text + strlen(begin),
				  h.len - strlen(begin) - strlen(end), &bytes,
				  &len) < 0)
			return false;
		return strlen(want) == len && !memcmp(bytes, want, len);
	}
	return strlen(want) == h.len && !strncmp(h.text, want, h.len);
}

/* What the header Mcp-Name repeats, or NULL. */
static const char *
name_of(const struct mcp_message *msg)
{
	if (!strcmp(msg->method, "tools/call") ||
	    !strcmp(msg->method, "prompts/get"))
		return json_string_value(json_object_get(msg->params, "name"));
	if (!strcmp(msg->method, "resources/read"))
		return json_string_value(json_object_get(msg->params, "uri"));
	return NULL;
}

int
mcp_headers_check(const struct exchange *x, const struct mcp_message *msg,
		  struct mcp_fault *fault)
{
	const char *version =
		json_string_value(mcp_message_meta(msg, MCP_META_VERSION));
	const char *name;

	if (msg->kind != MCP_REQUEST)
		return 0;
	if (version && !header_is(x, MCP_HEADER_VERSION, version))
		return mcp_fail(fault, MCP_E_HEADER,
				"the header " MCP_HEADER_VERSION
				" is not what _meta says");
	if (!header_is(x, "Mcp-Method", msg->method))
		return mcp_fail(fault, MCP_E_HEADER,
				"the header Mcp-Method is not the method");
	name = name_of(msg);
	if (name && !header_is(x, "Mcp-Name", name))
		return mcp_fail(fault, MCP_E_HEADER,
				"the header Mcp-Name is not the name or uri "
				"of params");
	return 0;
}

bool
mcp_headers_are_stateless(const struct exchange *x,
			  const struct mcp_message *msg)
{
	struct http_text h = exchange_header(x, MCP_HEADER_VERSION);
	char name[16];

	if (mcp_message_meta(msg, MCP_META_VERSION))
		return true;
	/* A header alone: what lacks is said by the answer. */
	if (!h.text || h.len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)h.len, h.text);
	return mcp_version_find(name) && mcp_version_find(name)->stateless;
}
