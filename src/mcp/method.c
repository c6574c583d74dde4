#include "mcp/method.h"

#include <string.h>

#include "base/own.h"
#include "mcp/call.h"
#include "mcp/resource.h"
#include "mcp/tool.h"

/* ---- revisions ---- */

/* The newest revision comes first. */
static const struct mcp_version versions[] = {
	{
		.name = "2026-07-28",
		.stateless = true,
		.structured = true,
		.annotations = true,
	},
	{ .name = "2025-11-25", .structured = true, .annotations = true },
	{ .name = "2025-06-18", .structured = true, .annotations = true },
	{ .name = "2025-03-26", .annotations = true },
	{ .name = "2024-11-05" },
	{ .name = "2024-10-07" },
};

const struct mcp_version *
mcp_version_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (!strcmp(versions[i].name, name))
			return &versions[i];
	return NULL;
}

const struct mcp_version *
mcp_version_agree(const char *wanted)
{
	const struct mcp_version *v = mcp_version_find(wanted);
	size_t i = 0;

	if (v && !v->stateless)
		return v;
	while (versions[i].stateless)
		i++;
	return &versions[i];
}

json_t *
mcp_version_stateless(void)
{
	json_t *names = json_array();

	for (size_t i = 0; versions[i].stateless; i++)
		json_array_append_new(names, json_string(versions[i].name));
	return names;
}

/* ---- methods ---- */

/* How long clients may cache lists. They change only when the server
   restarts. */
#define FRESH_MS 60000

static const char advice[] =
	"Runs Python in a jail with a policy, which get_policy shows. "
	"run_python without a session runs a separate program. To keep "
	"variables, imports and files, pass session \"new\" once, then the "
	"handle from the answer.";

enum era { HANDSHAKE = 1, STATELESS = 2, BOTH = 3 };

struct method {
	const char *name;
	unsigned eras;
	/* Returns 0 with the result (NULL without memory), or -1 with the
	   fault. If the callback is NULL, `begin` ends the call, now or
	   later. */
	int (*answer)(struct mcp_call *c, json_t **result,
		      struct mcp_fault *fault);
	void (*begin)(struct mcp_call *c);
	bool is_cached;
	int fresh_ms;
};

static json_t *
server_capabilities(void)
{
	return json_pack("{s:{}, s:{}}", "tools", "resources");
}

/* An empty object means the form, the oldest kind of elicitation. */
static bool
can_elicit(const json_t *abilities_of_peer)
{
	const json_t *e = json_object_get(abilities_of_peer, "elicitation");

	return json_is_object(e) &&
	       (!json_object_size(e) || json_object_get(e, "form"));
}

static int
method_initialize(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	const char *wanted = json_string_value(
		json_object_get(c->msg.params, "protocolVersion"));
	const json_t *can = json_object_get(c->msg.params, "capabilities");
	bool again;

	if (!wanted || !json_is_object(can))
		return mcp_fail(fault, MCP_E_PARAMS,
				"initialize needs protocolVersion and "
				"capabilities");
	pthread_mutex_lock(&c->mcp->lock);
	again = c->peer->version != NULL;
	if (!again) {
		c->peer->version = mcp_version_agree(wanted);
		c->peer->elicits = can_elicit(can);
	}
	pthread_mutex_unlock(&c->mcp->lock);
	if (again)
		return mcp_fail(fault, MCP_E_REQUEST,
				"this connection is already initialized");
	*result = json_pack("{s:s, s:o, s:{s:s, s:s, s:s}, s:s}",
			    "protocolVersion", mcp_version_agree(wanted)->name,
			    "capabilities", server_capabilities(), "serverInfo",
			    "name", "remit", "title", "Remit", "version",
			    remit_version(), "instructions", advice);
	return 0;
}

static int
method_discover(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	(void)c;
	(void)fault;
	*result = json_pack("{s:o, s:o, s:s}", "supportedVersions",
			    mcp_version_stateless(), "capabilities",
			    server_capabilities(), "instructions", advice);
	return 0;
}

static int
method_ping(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	(void)c;
	(void)fault;
	*result = json_object();
	return 0;
}

/* Refuse cursors: all lists have one page. */
static int
check_cursor(const struct mcp_call *c, struct mcp_fault *fault)
{
	if (json_object_get(c->msg.params, "cursor"))
		return mcp_fail(fault, MCP_E_PARAMS,
				"unknown cursor: lists have only one page");
	return 0;
}

static int
list_tools(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	if (check_cursor(c, fault) < 0)
		return -1;
	*result = json_pack("{s:o}", "tools",
			    mcp_toolbox_list(c->mcp->toolbox, c->version));
	return 0;
}

static int
list_resources(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	if (check_cursor(c, fault) < 0)
		return -1;
	*result = json_pack("{s:o}", "resources", mcp_resource_list());
	return 0;
}

static int
list_templates(struct mcp_call *c, json_t **result, struct mcp_fault *fault)
{
	if (check_cursor(c, fault) < 0)
		return -1;
	*result = json_pack("{s:o}", "resourceTemplates",
			    mcp_resource_templates());
	return 0;
}

static const struct method methods[] = {
	{ .name = "initialize",
	  .eras = HANDSHAKE,
	  .answer = method_initialize },
	{ .name = "ping", .eras = HANDSHAKE, .answer = method_ping },
	{
		.name = "server/discover",
		.eras = STATELESS,
		.answer = method_discover,
		.is_cached = true,
		.fresh_ms = FRESH_MS,
	},
	{
		.name = "tools/list",
		.eras = BOTH,
		.answer = list_tools,
		.is_cached = true,
		.fresh_ms = FRESH_MS,
	},
	{ .name = "tools/call", .eras = BOTH, .begin = mcp_tool_call },
	{
		.name = "resources/list",
		.eras = BOTH,
		.answer = list_resources,
		.is_cached = true,
		.fresh_ms = FRESH_MS,
	},
	{
		.name = "resources/templates/list",
		.eras = BOTH,
		.answer = list_templates,
		.is_cached = true,
		.fresh_ms = FRESH_MS,
	},
	{ .name = "resources/read", .eras = BOTH, .begin = mcp_resource_read },
};

/* ---- choosing the method by the revision ---- */

static int
refuse_version(const char *wanted, struct mcp_fault *fault)
{
	fault->data = json_pack("{s:o, s:s}", "supported",
				mcp_version_stateless(), "requested", wanted);
	return mcp_fail(fault, MCP_E_VERSION, "Unsupported protocol version");
}

static int
read_version(struct mcp_call *c, struct mcp_fault *fault)
{
	json_t *named = mcp_message_meta(&c->msg, META_VERSION);
	json_t *can = mcp_message_meta(&c->msg, META_CAN);

	if (!named && (c->peer->version || !strcmp(c->msg.method, "ping") ||
		       !strcmp(c->msg.method, "initialize"))) {
		c->version = c->peer->version;
		c->elicits = c->peer->elicits;
		return 0;
	}
	if (!json_is_string(named))
		return mcp_fail(
			fault, MCP_E_PARAMS,
			"a request needs %s in _meta, or initialize before it",
			META_VERSION);
	c->version = mcp_version_find(json_string_value(named));
	if (!c->version || !c->version->stateless)
		return refuse_version(json_string_value(named), fault);
	if (!json_is_object(can))
		return mcp_fail(fault, MCP_E_PARAMS,
				"a request needs %s in _meta", META_CAN);
	c->elicits = can_elicit(can);
	return 0;
}

static const struct method *
find_method(const struct mcp_call *c, struct mcp_fault *fault)
{
	unsigned era =
		c->version && c->version->stateless ? STATELESS : HANDSHAKE;

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(methods[i].name, c->msg.method) &&
		    methods[i].eras & era)
			return &methods[i];
	mcp_fail(fault, MCP_E_METHOD, "unknown method \"%.80s\"",
		 c->msg.method);
	return NULL;
}

static int
finish_method(struct mcp_call *c, const struct method *method,
	      struct mcp_fault *fault)
{
	json_t *result = NULL;

	if (method->answer(c, &result, fault) < 0)
		return -1;
	if (result && method->is_cached && c->version->stateless) {
		json_object_set_new(result, "ttlMs",
				    json_integer(method->fresh_ms));
		json_object_set_new(result, "cacheScope",
				    json_string("private"));
	}
	mcp_call_finish(c, result);
	return 0;
}

void
mcp_method_run(struct mcp_call *c)
{
	struct mcp_fault fault = { 0 };
	const struct method *method = NULL;
	int failed = read_version(c, &fault);

	if (!failed)
		method = find_method(c, &fault);
	if (method && method->begin)
		method->begin(c);
	else if (!method || finish_method(c, method, &fault) < 0)
		mcp_call_fail(c, &fault);
	mcp_fault_free(&fault);
}
