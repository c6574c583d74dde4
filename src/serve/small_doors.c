#include "small_doors.h"

#include <string.h>

#include "exchange.h"
#include "native_part.h"
#include "result_view.h"
#include "server.h"

/* A program that somebody waits for. */
struct errand {
	struct exchange *x;
	struct room *room;
	/* What the result is in the words of the door. */
	json_t *(*answer)(const json_t *result);
	json_t *(*blame)(const char *message);
};

static void
errand_free(void *errand)
{
	struct errand *e = errand;

	room_put(e->room);
	free(e);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct errand *e = user;
	json_auto_t *result =
		res ? json_loads(remit_result_json(res), JSON_ALLOW_NUL, NULL)
		    : NULL;

	if (res)
		metrics_program(&e->x->server->metrics,
				remit_result_status(res));
	if (result)
		reply_json(e->x, 200, e->answer(result));
	else
		reply_json(e->x, err && err->code == REMIT_E_BUSY ? 429 : 500,
			   e->blame(err ? err->message : "no memory"));
	exchange_put(e->x);
}

static const struct room_events events = { .result = on_result };

static void
on_gone(void *user)
{
	struct errand *e = user;

	room_interrupt(e->room);
}

/* Takes the document, which is one of the native API. */
static void
run(struct exchange *x, json_t *doc, uint64_t timeout_ms,
    const struct errand *how)
{
	struct errand *e = malloc(sizeof(*e));
	struct room_options opt = { .owner = x->owner };
	struct room_job job = { 0 };
	struct remit_error err;
	struct request *r = NULL;

	if (!e || request_read(&r, REQUEST_RUN, doc, x->key, &err) < 0 ||
	    native_check_limits(x, r->memory_bytes, &err) < 0) {
		reply_json(x,
			   !e			      ? 500
			   : err.code == REMIT_E_BUSY ? 429
						      : 400,
			   how->blame(e ? err.message : "no memory"));
		request_free(r);
		json_decref(doc);
		free(e);
		return;
	}
	json_decref(doc);
	*e = *how;
	e->x = exchange_hold(x);
	exchange_own(x, e, errand_free);
	opt.policy_json = r->policy_text;
	opt.memory_bytes = r->memory_bytes;
	opt.loan = (struct room_loan){ request_free, r };
	job.job = r->job;
	job.job.timeout_ms = timeout_ms;
	if (room_run(x->server->rooms, &opt, &job, &events, e, &e->room, &err) <
	    0) {
		request_free(r);
		on_result(e, NULL, &err);
		return;
	}
	exchange_on_gone(x, on_gone, e);
}

static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- {"code": ...} ---- */

/* "NameError: ...", or the status if there is no error. NULL: it went well. */
static json_t *
error_of(const json_t *result)
{
	const char *status = text_of(result, "status");
	const json_t *error = json_object_get(result, "error");

	if (!strcmp(status, "ok"))
		return NULL;
	if (json_is_object(error))
		return json_sprintf("%s: %s", text_of(error, "name"),
				    text_of(error, "value"));
	return json_string(status);
}

static json_t *
answer_plain(const json_t *result)
{
	json_t *value = json_object_get(result, "value");
	json_t *exact = json_object_get(value, "json");
	json_t *error = error_of(result);
	json_t *doc = json_object();

	if (error)
		json_object_set_new(doc, "error", error);
	else if (exact || json_is_object(value))
		json_object_set(doc, "result",
				exact ? exact : json_object_get(value, "text"));
	else
		json_object_set_new(doc, "result", json_null());
	json_object_set(doc, "stdout", json_object_get(result, "stdout"));
	json_object_set(doc, "stderr", json_object_get(result, "stderr"));
	return doc;
}

static json_t *
blame_plain(const char *message)
{
	return json_pack("{s:s}", "error", message);
}

static void
post_plain(struct exchange *x)
{
	static const struct errand how = { .answer = answer_plain,
					   .blame = blame_plain };

	if (json_object_size(x->json) != 1 ||
	    !json_is_string(json_object_get(x->json, "code")))
		reply_json(x, 400,
			   blame_plain("has \"code\", a text, and "
				       "nothing else; /v1/runs takes "
				       "more"));
	else
		run(x, json_incref(x->json), 0, &how);
}

/* ---- SandboxFusion ---- */

static json_t *
blame_fusion(const char *message)
{
	return json_pack("{s:s, s:s, s:n, s:n, s:n, s:{}}", "status",
			 "SandboxError", "message", message, "compile_result",
			 "run_result", "executor_pod_name", "files");
}

static json_t *
answer_fusion(const json_t *result)
{
	const char *status = text_of(result, "status");
	const json_t *usage = json_object_get(result, "usage");
	json_t *code = json_object_get(result, "exit_code");
	bool late = !strcmp(status, "timeout") || !strcmp(status, "cpu_limit");
	bool good = !late && json_is_integer(code) && !json_integer_value(code);
	json_t *run_result;

	if (!strcmp(status, "refused"))
		return blame_fusion(
			text_of(json_object_get(result, "error"), "value"));
	run_result = json_pack(
		"{s:s, s:f, s:O?, s:O, s:O}", "status",
		late ? "TimeLimitExceeded" : "Finished", "execution_time",
		json_number_value(json_object_get(usage, "wall_ms")) / 1000,
		"return_code", json_is_integer(code) ? code : NULL, "stdout",
		json_object_get(result, "stdout"), "stderr",
		json_object_get(result, "stderr"));

	return json_pack("{s:s, s:s, s:n, s:o, s:n, s:{}}", "status",
			 good ? "Success" : "Failed", "message",
			 good ? "" : status, "compile_result", "run_result",
			 run_result, "executor_pod_name", "files");
}

/* {"path": "base64"} as a list. */
static json_t *
files_of(const json_t *given)
{
	json_t *list = json_array(), *content;
	const char *path;

	json_object_foreach((json_t *)given, path, content)
	{
		if (!json_is_null(content))
			json_array_append_new(
				list, json_pack("{s:s, s:O}", "path", path,
						"base64", content));
	}
	return list;
}

static const char *
wrong_with(const json_t *body)
{
	const char *language = text_of(body, "language");

	if (!json_is_string(json_object_get(body, "code")))
		return "code: must be a text";
	if (strcmp(language, "python") != 0)
		return "language: there is only python here";
	if (json_array_size(json_object_get(body, "fetch_files")))
		return "fetch_files: files leave only by /v1/runs here";
	return NULL;
}

/* A smaller limit than the policy's is kept; a larger one changes nothing. */
static void
take_memory(json_t *doc, const json_t *body, const struct key *key)
{
	json_int_t mib =
		json_integer_value(json_object_get(body, "memory_limit_MB"));

	if (mib > 0 && (uint64_t)mib < key->policy.memory_bytes >> 20)
		json_object_set_new(
			doc, "policy",
			json_pack("{s:I}", "memory_bytes", mib << 20));
}

static void
post_fusion(struct exchange *x)
{
	static const struct errand how = { .answer = answer_fusion,
					   .blame = blame_fusion };
	const json_t *seconds = json_object_get(x->json, "run_timeout");
	const json_t *stdin_text = json_object_get(x->json, "stdin");
	double wanted = seconds ? json_number_value(seconds) : 10;
	const char *wrong = wrong_with(x->json);
	json_t *doc;

	if (wrong || !(wanted > 0 && wanted < 1e6)) {
		reply_json(x, 400,
			   blame_fusion(wrong ? wrong
					      : "run_timeout: no seconds"));
		return;
	}
	doc = json_pack("{s:O, s:o}", "code", json_object_get(x->json, "code"),
			"files", files_of(json_object_get(x->json, "files")));
	if (json_is_string(stdin_text))
		json_object_set(doc, "stdin", (json_t *)stdin_text);
	take_memory(doc, x->json, x->key);
	run(x, doc, (uint64_t)(wanted * 1000), &how);
}

const struct route small_door_routes[] = {
	{
		.method = "POST",
		.pattern = "/",
		.serve = post_plain,
		.body = BODY_JSON,
	},
	{
		.method = "POST",
		.pattern = "/run_code",
		.serve = post_fusion,
		.body = BODY_JSON,
	},
	{ 0 },
};
