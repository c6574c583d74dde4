#include "serve/compat/small_apis.h"

#include <string.h>

#include "serve/compat/oneshot.h"

/* "NameError: ...", or the status if there is no error. NULL: it went well. */
static json_t *
error_of(const json_t *result)
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
answer(const struct exchange *x, const json_t *result, const struct buf *output,
       int *status)
{
	json_t *value = json_object_get(result, "value");
	json_t *exact = json_object_get(value, "json");
	json_t *error = error_of(result);
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
blame(const char *message)
{
	return json_pack("{s:s}", "error", message);
}

static void
post_plain(struct exchange *x)
{
	static const struct oneshot_form form = { answer, blame, true };

	if (json_object_size(x->json) != 1 ||
	    !json_is_string(json_object_get(x->json, "code")))
		reply_json(x, 400,
			   blame("has \"code\", a text, and nothing else; "
				 "/v1/runs takes more"));
	else
		oneshot_run(x, json_incref(x->json), 0, &form);
}

const struct route small_api_routes[] = {
	{
		.method = "POST",
		.pattern = "/",
		.serve = post_plain,
		.body = BODY_JSON,
		.summary = "Run code and answer with its value",
		.takes = "Plain",
		.gives = "PlainAnswer",
		.fails = "PlainError",
	},
	{ 0 },
};
