/*
 * native_sessions: sessions and their cells.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "serve/native/delivery.h"
#include "serve/native/native.h"
#include "serve/openapi.h"
#include "serve/server.h"

/* The lifetime of a session without a timeout. */
#define LIFE_MS (3600 * UINT64_C(1000))

void
native_unknown(struct exchange *x, const char *what)
{
	reply_fail(x, 404, "input", "there is no such %s, or it has ended",
		   what);
}

struct hosted *
native_session(struct exchange *x)
{
	struct hosted *r = hosted_find(x->server->hosted_table, x->owner,
				       exchange_param(x, "id"));

	if (!r)
		native_unknown(x, "session");
	return r;
}

/* ---- a session as JSON ---- */

static json_t *
time_json(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char day[32], text[48];
	struct tm utc;

	if (!ms)
		return json_null();
	gmtime_r(&seconds, &utc);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(ms % 1000));
	return json_string(text);
}

static json_t *
view_json(const struct hosted_view *v)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:I, s:i, s:b}", "id", v->id,
			 "created_at", time_json(v->created_ms), "expires_at",
			 time_json(v->expires_ms), "state",
			 hosted_state_names[v->state], "cells",
			 (json_int_t)v->cells, "waiting", (int)v->waiting,
			 "forkable", v->forkable);
}

static json_t *
session_json(struct hosted *r)
{
	struct hosted_view v = hosted_get_view(r);
	json_t *doc = view_json(&v);
	const char *policy = hosted_policy(r);

	if (doc && policy)
		json_object_set_new(doc, "policy", json_loads(policy, 0, NULL));
	return doc;
}

/* ---- requests without output: open, fork, reset ---- */

/* A client that waits until a session has done something. */
struct waiting {
	struct exchange *x;
	struct hosted *hosted;
	int status; /* on success */
};

static void
waiting_free(void *waiting)
{
	struct waiting *w = waiting;

	hosted_unref(w->hosted);
	free(w);
}

static void
waiting_on_done(void *user, struct remit_result *res,
		const struct remit_error *err)
{
	struct waiting *w = user;

	(void)res;
	if (err)
		reply_error(w->x, err);
	else
		reply_json(w->x, w->status, session_json(w->hosted));
	exchange_unref(w->x);
}

static const struct hosted_events done_events = { .result = waiting_on_done };

/* Returns NULL after it has sent an error. */
static struct waiting *
waiting_new(struct exchange *x, int status)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (!w) {
		reply_fail(x, 500, "memory", "no memory");
		return NULL;
	}
	w->x = exchange_ref(x);
	w->status = status;
	exchange_own(x, w, waiting_free);
	return w;
}

/* The client disconnected, so no other client could learn the id of the new
   session. */
static void
waiting_on_gone(void *user)
{
	struct waiting *w = user;

	hosted_drop(w->hosted);
}

static void
post_session(struct exchange *x)
{
	struct request *r = native_request(x, REQUEST_SESSION);
	struct hosted_options opt;
	struct remit_error err;
	struct waiting *w;

	if (!r)
		return;
	w = waiting_new(x, 201);
	if (!w) {
		request_free(r);
		return;
	}
	opt = (struct hosted_options){
		.owner = x->owner,
		.policy_json = r->policy_text,
		.tools = r->tools,
		.tool_count = r->tool_count,
		.exports = r->exports,
		.forkable = r->forkable,
		.commands = r->has_commands,
		.life_ms = r->life_ms ? r->life_ms : LIFE_MS,
		.memory_bytes = r->memory_bytes,
		.result_bytes = r->result_bytes,
		.loan = { request_free, r },
	};
	if (hosted_open(x->server->hosted_table, &opt, &done_events, w,
			&w->hosted, &err) < 0) {
		request_free(r);
		waiting_on_done(w, NULL, &err);
		return;
	}
	exchange_on_gone(x, waiting_on_gone, w);
}

static void
post_reset(struct exchange *x)
{
	struct hosted *r = native_session(x);
	struct waiting *w = r ? waiting_new(x, 200) : NULL;
	struct remit_error err;

	if (!w) {
		hosted_unref(r);
		return;
	}
	w->hosted = r;
	if (hosted_reset(r, &done_events, w, &err) < 0)
		waiting_on_done(w, NULL, &err);
}

static void
post_fork(struct exchange *x)
{
	struct hosted *r = native_session(x);
	struct waiting *w = r ? waiting_new(x, 201) : NULL;
	struct remit_error err;

	if (w && (native_check_limits(x, hosted_memory(r), &err) < 0 ||
		  hosted_fork(r, &done_events, w, &w->hosted, &err) < 0))
		waiting_on_done(w, NULL, &err);
	else if (w)
		exchange_on_gone(x, waiting_on_gone, w);
	hosted_unref(r);
}

/* ---- looking ---- */

static void
get_sessions(struct exchange *x)
{
	own_mem struct hosted_view *views = NULL;
	json_t *list = json_array();
	size_t count = 0;

	if (hosted_table_list(x->server->hosted_table, x->owner, &views,
			      &count) < 0) {
		json_decref(list);
		list = NULL;
	}
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, view_json(&views[i]));
	reply_json(x, 200, list);
}

static void
get_session(struct exchange *x)
{
	struct hosted *r = native_session(x);

	if (r)
		reply_json(x, 200, session_json(r));
	hosted_unref(r);
}

/* ---- cells ---- */

static void
post_cell(struct exchange *x)
{
	struct hosted *hosted = native_session(x);
	struct request *r = hosted ? native_request(x, REQUEST_CELL) : NULL;
	struct delivery *dl = r ? delivery_new(x, r) : NULL;
	struct hosted_job job = { 0 };
	struct remit_error err;

	if (!dl) {
		request_free(r);
		hosted_unref(hosted);
		return;
	}
	dl->hosted = hosted;
	job.job = r->job;
	job.loan = (struct hosted_loan){ request_free, r };
	if (hosted_cell(hosted, &job, dl->events, dl, &dl->cell, &err) < 0) {
		request_free(r);
		delivery_fail(dl, &err);
		return;
	}
	delivery_begin(dl);
}

static void
post_interrupt(struct exchange *x)
{
	struct hosted *r = native_session(x);

	if (!r)
		return;
	hosted_interrupt(r);
	hosted_unref(r);
	reply_json(x, 200, json_object());
}

/* ---- the end ---- */

static void
delete_session(struct exchange *x)
{
	static const struct request nothing = { .stream = STREAM_NONE };
	const char *drop = exchange_query(x, "drop");
	struct hosted *r = native_session(x);
	struct remit_error err;
	struct delivery *dl;

	if (!r)
		return;
	if (drop && !strcmp(drop, "1")) {
		hosted_drop(r);
		hosted_unref(r);
		reply_json(x, 200, json_object());
		return;
	}
	dl = delivery_new(x, &nothing);
	if (!dl) {
		hosted_unref(r);
		return;
	}
	dl->hosted = r;
	if (hosted_close(r, dl->events, dl, &err) < 0)
		delivery_fail(dl, &err);
}

static const struct route_query ends[] = {
	{ "drop", NAME, "1: immediately, without its last result", false },
	{ 0 },
};

const struct route native_session_routes[] = {
	{
		.method = "POST",
		.pattern = "/v1/sessions",
		.serve = post_session,
		.body = BODY_MAYBE,
		.summary = "Open a session",
		.request_schema = "NewSession",
		.reply_schema = "Session",
		.status = 201,
	},
	{
		.method = "GET",
		.pattern = "/v1/sessions",
		.serve = get_sessions,
		.summary = "The sessions of this key",
		.reply_schema = "Sessions",
	},
	{
		.method = "GET",
		.pattern = "/v1/sessions/{id}",
		.serve = get_session,
		.summary = "One session",
		.reply_schema = "Session",
	},
	{
		.method = "DELETE",
		.pattern = "/v1/sessions/{id}",
		.serve = delete_session,
		.summary = "Close a session, or drop it",
		.queries = ends,
		.reply_schema = "LastResult",
		.streams = true,
	},
	{
		.method = "POST",
		.pattern = "/v1/sessions/{id}/cells",
		.serve = post_cell,
		.body = BODY_JSON,
		.summary = "Run a cell",
		.request_schema = "Cell",
		.reply_schema = "Result",
		.streams = true,
	},
	{
		.method = "POST",
		.pattern = "/v1/sessions/{id}/interrupt",
		.serve = post_interrupt,
		.body = BODY_MAYBE,
		.summary = "Interrupt the running cell",
		.reply_schema = "Nothing",
	},
	{
		.method = "POST",
		.pattern = "/v1/sessions/{id}/reset",
		.serve = post_reset,
		.body = BODY_MAYBE,
		.summary = "Give a session a new jail",
		.reply_schema = "Session",
	},
	{
		.method = "POST",
		.pattern = "/v1/sessions/{id}/fork",
		.serve = post_fork,
		.body = BODY_MAYBE,
		.summary = "Make an independent copy of a session",
		.reply_schema = "Session",
		.status = 201,
	},
	{ 0 },
};
