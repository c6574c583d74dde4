/*
 * mcp_policy: the tool get_policy.
 *
 * The tool runs an empty program once: its result lists the mechanisms that
 * really enforced each field.
 */
#include <string.h>

#include "mcp/call.h"
#include "mcp/tool.h"

static const struct mcp_member input[] = { { 0 } };

static const struct mcp_member output[] = {
	{ .name = "tier",
	  .schema = MCP_TEXT,
	  .text = "how strong the isolation is" },
	{ .name = "guide",
	  .schema = MCP_TEXT,
	  .text = "what the code may do, as text" },
	{ .name = "enforcement",
	  .schema = "{\"type\":\"array\",\"items\":{\"type\":\"object\","
		    "\"properties\":{"
		    "\"field\":" MCP_TEXT ",\"value\":{},\"strength\":" MCP_TEXT
		    ",\"mechanisms\":{\"type\":\"array\",\"items\":" MCP_TEXT
		    "}},"
		    "\"required\":[\"field\",\"strength\",\"mechanisms\"]}}",
	  .text = "each field of the policy, and the mechanisms that enforce "
		  "it" },
	{ 0 },
};

/* Omit lists, objects and texts: they contain paths of the host and values of
   variables. The guide has what the code may know about them. */
static json_t *
show_row(const json_t *row)
{
	json_t *value = json_object_get(row, "value");
	bool is_plain = value && !json_is_array(value) &&
			!json_is_object(value) && !json_is_string(value);

	return json_pack("{s:O, s:O*, s:O, s:O}", "field",
			 json_object_get(row, "field"), "value",
			 is_plain ? value : NULL, "strength",
			 json_object_get(row, "strength"), "mechanisms",
			 json_object_get(row, "mechanisms"));
}

static json_t *
policy_document(const struct mcp *m, const json_t *result)
{
	json_t *rows = json_array(), *row;
	size_t i;

	json_array_foreach(json_object_get(result, "enforcement"), i, row)
	{
		json_array_append_new(rows, show_row(row));
	}
	return json_pack("{s:O, s:s, s:o}", "tier",
			 json_object_get(result, "tier"), "guide", m->guide,
			 "enforcement", rows);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct mcp_call *c = user;
	json_auto_t *doc =
		res ? json_loads(remit_result_json(res), 0, NULL) : NULL;
	json_t *given = doc ? policy_document(c->mcp, doc) : NULL;

	if (err) {
		mcp_tool_refuse(c, err);
	} else {
		pthread_mutex_lock(&c->mcp->lock);
		if (!c->mcp->policy_shown)
			c->mcp->policy_shown = json_deep_copy(given);
		pthread_mutex_unlock(&c->mcp->lock);
		mcp_tool_answer(c, given, NULL, false);
	}
	mcp_call_unref(c);
}

static void
run_empty_program(struct mcp_call *c)
{
	static const struct hosted_events events = {
		.begin = mcp_call_enter,
		.result = on_result,
	};
	struct hosted_job job = { .job = REMIT_JOB_INIT };
	struct hosted_options opt;
	struct remit_error err;
	struct hosted *hosted;

	job.job.code = "";
	mcp_call_ref(c);
	c->made_hosted = true;
	if (mcp_tool_hosted(c, &opt, &err) == 0 &&
	    hosted_run(c->mcp->hosted_table, &opt, &job, &events, c, &hosted,
		       &err) == 0) {
		mcp_call_enter(c, hosted);
		hosted_unref(hosted);
		return;
	}
	mcp_tool_refuse(c, &err);
	mcp_call_unref(c);
}

static void
get_policy(struct mcp_call *c)
{
	json_t *known;

	pthread_mutex_lock(&c->mcp->lock);
	known = json_deep_copy(c->mcp->policy_shown);
	pthread_mutex_unlock(&c->mcp->lock);
	if (known)
		mcp_tool_answer(c, known, NULL, false);
	else
		run_empty_program(c);
}

const struct mcp_tool mcp_tool_policy = {
	.name = "get_policy",
	.title = "Show the policy",
	.text = "Show what programs may do here, and which mechanisms enforce "
		"each field of the policy.",
	.input = input,
	.output = output,
	.only_reads = true,
	.again = true,
	.begin = get_policy,
};
