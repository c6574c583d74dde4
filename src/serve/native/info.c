/*
 * native_info: replies about the server and its policies that run no program.
 */
#include <string.h>

#include "jail/probe/discover.h"
#include "policy/fields/field.h"
#include "serve/native/matrix.h"
#include "serve/native/native.h"
#include "serve/openapi.h"
#include "serve/server.h"

static int
plan_for(const struct policy *policy, json_t **out, struct remit_error *err)
{
	own(site) struct site site = { 0 };
	own(plan) struct plan plan = { 0 };
	struct plan_job job = { 0 };

	if (site_find_host(&site, err) < 0 ||
	    site_find_interpreter(&site, policy, err) < 0 ||
	    plan_build(&plan, policy, &job, &site.host, &site.interpreter,
		       err) < 0)
		return -1;
	*out = plan_to_json(&plan);
	return 0;
}

/* Replies with the plan for a policy on this machine. */
static void
explain_in_thread(struct exchange *x)
{
	const json_t *given = json_object_get(x->json, "policy");
	own(policy) struct policy policy = { 0 };
	own_mem char *text = NULL;
	struct remit_error err;
	json_t *doc;

	if (request_policy(json_is_null(given) ? NULL : given, x->key, &policy,
			   &text, &err) < 0) {
		reply_json(x, err.code == REMIT_E_REFUSED ? 403 : 400,
			   reply_error_json(&err));
		return;
	}
	if (plan_for(&policy, &doc, &err) < 0)
		reply_error(x, &err);
	else
		reply_json(x, 200, doc);
}

static void
post_explain(struct exchange *x)
{
	exchange_in_thread(x, explain_in_thread);
}

static void
matrix_in_thread(struct exchange *x)
{
	struct matrix *m = calloc(1, sizeof(*m));
	struct remit_error err;

	if (!m)
		reply_fail(x, 500, "memory", "no memory");
	else if (matrix_find(m, &err) < 0)
		reply_error(x, &err);
	else
		reply_json(x, 200, matrix_to_json(m));
	if (m)
		matrix_free(m);
	free(m);
}

static void
get_matrix(struct exchange *x)
{
	exchange_in_thread(x, matrix_in_thread);
}

static void
status_in_thread(struct exchange *x)
{
	own_mem char *text = NULL;
	struct remit_error err;
	json_t *doc;

	if (remit_status(x->server->remit, &text, &err) < 0) {
		reply_error(x, &err);
		return;
	}
	doc = json_loads(text, 0, NULL);
	/* Runs have no names here, and there may be many. */
	json_object_del(doc, "runs");
	if (doc)
		json_object_set_new(
			doc, "rooms",
			json_integer((json_int_t)hosted_table_count(
				x->server->hosted_table, x->owner)));
	reply_json(x, 200, doc);
}

/* Pids, paths, modules, sessions and load concern all keys, so only operators
   see them. */
static void
get_status(struct exchange *x)
{
	if (x->key->is_operator)
		exchange_in_thread(x, status_in_thread);
	else
		reply_json(
			x, 200,
			json_pack("{s:s, s:I}", "remit_version",
				  remit_version(), "rooms",
				  (json_int_t)hosted_table_count(
					  x->server->hosted_table, x->owner)));
}

static void
get_fields(struct exchange *x)
{
	reply_json(x, 200, field_table_to_json());
}

static void
get_openapi(struct exchange *x)
{
	reply_json(x, 200, openapi_document(x->server->tables));
}

static void
get_health(struct exchange *x)
{
	bool ends = x->server->is_draining;

	reply_json(x, ends ? 503 : 200,
		   json_pack("{s:s, s:s}", "status", ends ? "draining" : "ok",
			     "version", remit_version()));
}

static void
get_metrics(struct exchange *x)
{
	own(buf) struct buf text = BUF_INIT(1024 * 1024);
	struct server *s = x->server;

	if ((x->key->is_operator
		     ? metrics_show(&s->metrics,
				    hosted_table_count(s->hosted_table, NULL),
				    s->conn_count, &text)
		     : metrics_show_hosted(
			       hosted_table_count(s->hosted_table, x->owner),
			       &text)) < 0)
		reply_fail(x, 500, "memory", "no memory");
	else
		reply_bytes(x, 200, "text/plain; version=0.0.4; charset=utf-8",
			    text.data, text.len);
}

const struct route native_info_routes[] = {
	{
		.method = "POST",
		.pattern = "/v1/explain",
		.serve = post_explain,
		.body = BODY_MAYBE,
		.summary = "What would enforce each field of a policy here",
		.request_schema = "Explain",
		.reply_schema = "Plan",
	},
	{
		.method = "GET",
		.pattern = "/v1/matrix",
		.serve = get_matrix,
		.summary = "The mechanisms that enforce each field, by tier",
		.reply_schema = "Matrix",
	},
	{
		.method = "GET",
		.pattern = "/v1/status",
		.serve = get_status,
		.summary = "The state of the keeper, for keys of operators",
		.reply_schema = "Status",
	},
	{
		.method = "GET",
		.pattern = "/v1/fields",
		.serve = get_fields,
		.summary = "The table of policy fields",
		.reply_schema = "Fields",
	},
	{
		.method = "GET",
		.pattern = "/v1/openapi.json",
		.serve = get_openapi,
		.is_open = true,
		.summary = "This document",
		.reply_schema = "Document",
	},
	{
		.method = "GET",
		.pattern = "/healthz",
		.serve = get_health,
		.is_open = true,
		.while_draining = true,
		.summary = "Whether the server accepts requests",
		.reply_schema = "Health",
		.error_schema = "Health",
	},
	{
		.method = "GET",
		.pattern = "/metrics",
		.serve = get_metrics,
		.while_draining = true,
		.summary = "Counters for Prometheus, for keys of operators",
		.type = "text/plain",
	},
	{ 0 },
};
