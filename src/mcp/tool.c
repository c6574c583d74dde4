#include "mcp/tool.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/text.h"
#include "client/tools/schema.h"
#include "mcp/call.h"
#include "mcp/elicit.h"

/* In the order of tools/list. */
static const struct mcp_tool *const tools[] = {
	&mcp_tool_run,	 &mcp_tool_reset, &mcp_tool_close,  &mcp_tool_read,
	&mcp_tool_write, &mcp_tool_list,  &mcp_tool_policy,
};

struct mcp_toolbox {
	struct schema input[ARRAY_LEN(tools)];
	json_t *listed; /* with the members of all revisions */
};

/* ---- tools as JSON ---- */

static json_t *
schema_of(const struct mcp_member *members, bool closed)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct mcp_member *m = members; m->name; m++) {
		json_t *schema = json_loads(m->schema, 0, NULL);

		if (m->text)
			json_object_set_new(schema, "description",
					    json_string(m->text));
		json_object_set_new(properties, m->name, schema);
		if (!m->optional)
			json_array_append_new(required, json_string(m->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties",
			 properties, "required", required,
			 "additionalProperties", !closed);
}

/* A call may request at most the timeout of the policy. */
static void
bound_timeout(json_t *schema, const struct policy *policy)
{
	json_t *timeout = json_object_get(json_object_get(schema, "properties"),
					  "timeout");

	if (timeout && policy->timeout_ms != POLICY_UNLIMITED)
		json_object_set_new(
			timeout, "maximum",
			json_real((double)policy->timeout_ms / 1000));
}

static json_t *
describe_tool(const struct mcp_tool *t, json_t *input, const char *guide)
{
	json_t *text = t->has_guide ? json_sprintf("%s\n\n%s", t->text, guide)
				    : json_string(t->text);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:{s:b, s:b, s:b, s:b}}",
			 "name", t->name, "title", t->title, "description",
			 text, "inputSchema", input, "outputSchema",
			 schema_of(t->output, false), "annotations",
			 "readOnlyHint", t->only_reads, "destructiveHint",
			 t->destroys, "idempotentHint", t->again,
			 "openWorldHint", t->has_guide);
}

int
mcp_toolbox_open(struct mcp_toolbox **out, const struct policy *policy,
		 const char *guide, struct remit_error *err)
{
	struct mcp_toolbox *b = calloc(1, sizeof(*b));
	int failed = 0;

	if (!b)
		return fail_memory(err, "tools");
	b->listed = json_array();
	for (size_t i = 0; i < ARRAY_LEN(tools) && !failed; i++) {
		json_t *input = schema_of(tools[i]->input, true);
		own_mem char *text = NULL;

		bound_timeout(input, policy);
		text = input ? json_dumps(input, JSON_REAL_PRECISION(15))
			     : NULL;
		failed = text ? schema_read(&b->input[i], text, err)
			      : fail_memory(err, "tools");
		json_array_append_new(b->listed,
				      describe_tool(tools[i], input, guide));
	}
	if (!failed && json_array_size(b->listed) != ARRAY_LEN(tools))
		failed = fail_memory(err, "tools");
	if (failed)
		mcp_toolbox_free(b);
	else
		*out = b;
	return failed;
}

void
mcp_toolbox_free(struct mcp_toolbox *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		schema_free(&b->input[i]);
	json_decref(b->listed);
	free(b);
}

json_t *
mcp_toolbox_list(const struct mcp_toolbox *b, const struct mcp_version *v)
{
	json_t *list = json_array(), *tool;
	size_t i;

	json_array_foreach(b->listed, i, tool)
	{
		json_t *shown = json_copy(tool);

		if (!v->structured) {
			json_object_del(shown, "title");
			json_object_del(shown, "outputSchema");
		}
		if (!v->annotations)
			json_object_del(shown, "annotations");
		json_array_append_new(list, shown);
	}
	return list;
}

/* ---- answers ---- */

void
mcp_tool_answer(struct mcp_call *c, json_t *given, json_t *blocks,
		bool is_error)
{
	own_mem char *text =
		given ? json_dumps(given,
				   JSON_COMPACT | JSON_REAL_PRECISION(15))
		      : NULL;
	json_t *content =
		json_pack("[{s:s, s:s*}]", "type", "text", "text", text);
	json_t *result;

	if (blocks)
		json_array_extend(content, blocks);
	json_decref(blocks);
	result = text ? json_pack("{s:o, s:b}", "content", content, "isError",
				  is_error)
		      : NULL;
	if (result && c->version->structured)
		json_object_set(result, "structuredContent", given);
	json_decref(given);
	mcp_call_finish(c, result);
}

void
mcp_tool_refuse(struct mcp_call *c, const struct remit_error *err)
{
	const char *field = err->code == REMIT_E_REFUSED ? err->where : "";
	char text[sizeof(*err) + 8];

	snprintf(text, sizeof(text), "%s%s%s%s%s", field, *field ? ": " : "",
		 err->message, err->remedy[0] ? "\n" : "", err->remedy);
	if (c->made_hosted && c->hosted)
		hosted_drop(c->hosted);
	mcp_call_finish(c, json_pack("{s:[{s:s, s:o}], s:b}", "content", "type",
				     "text", "text",
				     text_to_json(text, strlen(text)),
				     "isError", 1));
}

/* ---- sessions ---- */

/* How long a session's id stays valid without use: a little longer than its
   jail may be idle. */
static uint64_t
life_ms(const struct mcp *m)
{
	const struct policy *p = &m->policy;

	return p->timeout_ms == POLICY_UNLIMITED ||
			       p->session_idle_ms == POLICY_UNLIMITED
		       ? 0
		       : number_add(
				 number_add(p->timeout_ms, p->session_idle_ms),
				 60000);
}

int
mcp_tool_find_hosted(struct mcp_call *c, struct remit_error *err)
{
	const char *id =
		json_string_value(json_object_get(c->arguments, "session"));
	struct hosted *hosted =
		hosted_find(c->mcp->hosted_table, c->mcp->owner, id);

	if (!hosted)
		return fail(err, REMIT_E_INPUT,
			    "session \"%.40s\" does not exist or has ended; "
			    "pass session \"new\" to open one",
			    id);
	hosted_set_life(hosted, life_ms(c->mcp));
	mcp_call_enter(c, hosted);
	hosted_unref(hosted);
	return 0;
}

static void
on_opened(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;

	(void)res;
	if (err)
		mcp_tool_refuse(c, err);
	else
		c->entered(c);
	mcp_call_unref(c);
}

static const struct hosted_events opening = {
	.begin = mcp_call_enter,
	.result = on_opened,
};

int
mcp_tool_hosted(struct mcp_call *c, struct hosted_options *opt,
		struct remit_error *err)
{
	struct mcp *m = c->mcp;

	*opt = (struct hosted_options){
		.owner = m->owner,
		.policy_json = m->policy_json,
		.exports = m->store && m->policy.artifact_export_paths.count,
		.life_ms = life_ms(m),
		.memory_bytes = m->policy.memory_bytes,
		.result_bytes = policy_result_bytes(&m->policy),
	};
	return m->admit ? m->admit(m->user, opt->memory_bytes, err) : 0;
}

static void
open_hosted(struct mcp_call *c)
{
	struct hosted_options opt;
	struct remit_error err;
	struct hosted *hosted;

	mcp_call_ref(c);
	c->made_hosted = true;
	if (mcp_tool_hosted(c, &opt, &err) == 0 &&
	    hosted_open(c->mcp->hosted_table, &opt, &opening, c, &hosted,
			&err) == 0) {
		mcp_call_enter(c, hosted);
		hosted_unref(hosted);
		return;
	}
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

void
mcp_tool_enter(struct mcp_call *c, void (*next)(struct mcp_call *c))
{
	const char *id =
		json_string_value(json_object_get(c->arguments, "session"));
	struct remit_error err;

	c->entered = next;
	if (!strcmp(id, "new"))
		open_hosted(c);
	else if (mcp_tool_find_hosted(c, &err) < 0)
		mcp_tool_refuse(c, &err);
	else
		next(c);
}

/* ---- the method ---- */

/* Returns the index of the tool, or ARRAY_LEN(tools). */
static size_t
find_tool(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_LEN(tools) && strcmp(tools[i]->name, name) != 0)
		i++;
	return i;
}

void
mcp_tool_call(struct mcp_call *c)
{
	const char *name =
		json_string_value(json_object_get(c->msg.params, "name"));
	size_t i = find_tool(name ? name : "");
	struct mcp_fault fault = { 0 };
	struct remit_error err;

	if (i == ARRAY_LEN(tools)) {
		mcp_fail(&fault, MCP_E_PARAMS, "Unknown tool: %.80s",
			 name ? name : "(no name)");
		mcp_call_fail(c, &fault);
		return;
	}
	c->tool = tools[i];
	c->arguments = json_object_get(c->msg.params, "arguments");
	if (!c->arguments) {
		c->arguments = json_object();
		json_object_set_new(c->msg.params, "arguments", c->arguments);
	}
	if (mcp_elicit_resume(c))
		return;
	if (schema_check(&c->mcp->toolbox->input[i], c->arguments, &err) < 0)
		mcp_tool_refuse(c, &err);
	else
		c->tool->begin(c);
}
