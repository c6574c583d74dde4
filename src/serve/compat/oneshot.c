#include "serve/compat/oneshot.h"

#include <string.h>

#include "client/result_view.h"
#include "serve/native/native.h"
#include "serve/server.h"

/* A program whose client waits for the result. */
struct oneshot {
	struct exchange *x;
	struct hosted *hosted;
	const struct oneshot_form *form;
	struct buf output;
};

static void
oneshot_free(void *oneshot)
{
	struct oneshot *e = oneshot;

	hosted_unref(e->hosted);
	buf_free(&e->output);
	free(e);
}

static void
oneshot_on_output(void *user, enum remit_stream stream, const char *bytes,
		  size_t len)
{
	struct oneshot *e = user;

	(void)stream;
	if (buf_add(&e->output, bytes, len) < 0)
		return; /* no memory: the result still has both streams */
}

/* The value of a result. Numbers beyond 64 bits cannot be represented: then
   only its text is returned. */
static json_t *
result_value(const struct remit_result *res)
{
	bool exact;
	json_t *value = result_view_value(res, &exact);

	if (value && !exact)
		json_object_del(value, "json");
	return value;
}

static json_t *
result_of(const struct oneshot *e, const struct remit_result *res)
{
	json_t *result = json_copy(result_view_document(res));
	json_t *value = e->form->has_value ? result_value(res) : NULL;

	if (value && json_object_set_new(result, "value", value) < 0)
		return NULL;
	return result;
}

static void
oneshot_on_result(void *user, struct remit_result *res,
		  const struct remit_error *err)
{
	struct oneshot *e = user;
	json_auto_t *result = res ? result_of(e, res) : NULL;
	int status = 200;
	json_t *plain_answer;

	if (res)
		metrics_program(&e->x->server->metrics,
				remit_result_status(res));
	if (result) {
		plain_answer =
			e->form->answer(e->x, result, &e->output, &status);
		reply_json(e->x, status, plain_answer);
	} else {
		reply_json(e->x, err && err->code == REMIT_E_BUSY ? 429 : 500,
			   e->form->failure(err ? err->message : "no memory"));
	}
	exchange_unref_sent(e->x);
}

static const struct hosted_events events = { .output = oneshot_on_output,
					     .result = oneshot_on_result };

static void
oneshot_on_gone(void *user)
{
	struct oneshot *e = user;

	hosted_interrupt(e->hosted);
}

void
oneshot_run(struct exchange *x, json_t *doc, uint64_t timeout_ms,
	    const struct oneshot_form *form)
{
	struct oneshot *e = malloc(sizeof(*e));
	struct hosted_options opt = { .owner = x->owner };
	struct hosted_job job = { 0 };
	struct remit_error err;
	struct request *r = NULL;

	if (!e || request_read(&r, REQUEST_RUN, doc, x->key, &err) < 0 ||
	    native_check_limits(x, r->memory_bytes, &err) < 0) {
		reply_json(x,
			   !e			      ? 500
			   : err.code == REMIT_E_BUSY ? 429
						      : 400,
			   form->failure(e ? err.message : "no memory"));
		request_free(r);
		json_decref(doc);
		free(e);
		return;
	}
	json_decref(doc);
	*e = (struct oneshot){ .x = exchange_ref(x),
			       .form = form,
			       .output = BUF_INIT((size_t)1 << 30) };
	exchange_own(x, e, oneshot_free);
	opt.policy_json = r->policy_text;
	opt.memory_bytes = r->memory_bytes;
	opt.result_bytes = r->result_bytes;
	opt.loan = (struct hosted_loan){ request_free, r };
	job.job = r->job;
	job.job.timeout_ms = timeout_ms;
	if (hosted_run(x->server->hosted_table, &opt, &job, &events, e,
		       &e->hosted, &err) < 0) {
		request_free(r);
		oneshot_on_result(e, NULL, &err);
		return;
	}
	exchange_on_gone(x, oneshot_on_gone, e);
}

const char *
oneshot_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- the simplest API ---- */

/* Returns "NameError: ...", or the status if there is no exception; NULL after
   a success. */
static json_t *
plain_error(const json_t *result)
{
	const char *status = oneshot_text(result, "status");
	const json_t *error = json_object_get(result, "error");

	if (!strcmp(status, "ok"))
		return NULL;
	if (json_is_object(error))
		return json_sprintf("%s: %s", oneshot_text(error, "name"),
				    oneshot_text(error, "value"));
	return json_string(status);
}

static json_t *
plain_answer(const struct exchange *x, const json_t *result,
	     const struct buf *output, int *status)
{
	json_t *value = json_object_get(result, "value");
	json_t *exact = json_object_get(value, "json");
	json_t *error = plain_error(result);
	json_t *doc = json_object();

	(void)x;
	(void)output;
	(void)status;
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
plain_failure(const char *message)
{
	return json_pack("{s:s}", "error", message);
}

static void
post_plain(struct exchange *x)
{
	static const struct oneshot_form form = { plain_answer, plain_failure,
						  true };

	if (json_object_size(x->json) != 1 ||
	    !json_is_string(json_object_get(x->json, "code")))
		reply_json(x, 400,
			   plain_failure(
				   "the body must have \"code\", a string, and "
				   "nothing else; /v1/runs accepts more"));
	else
		oneshot_run(x, json_incref(x->json), 0, &form);
}

const struct route small_api_routes[] = {
	{
		.method = "POST",
		.pattern = "/",
		.serve = post_plain,
		.body = BODY_JSON,
		.summary = "Run code and reply with its value",
		.request_schema = "Plain",
		.reply_schema = "PlainAnswer",
		.error_schema = "PlainError",
	},
	{ 0 },
};
