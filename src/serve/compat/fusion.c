/*
 * fusion: SandboxFusion's API, as far as it runs Python.
 */
#include <string.h>

#include "serve/compat/fusion_ask.h"
#include "serve/compat/oneshot.h"

static json_t *
blame(const char *message)
{
	return json_pack("{s:s, s:s, s:n, s:n, s:n, s:{}}", "status",
			 "SandboxError", "message", message, "compile_result",
			 "run_result", "executor_pod_name", "files");
}

static json_t *
answer(const struct exchange *x, const json_t *result, const struct buf *output,
       int *status)
{
	const char *ended = oneshot_text(result, "status");
	const json_t *usage = json_object_get(result, "usage");
	json_t *code = json_object_get(result, "exit_code");
	bool late = !strcmp(ended, "timeout") || !strcmp(ended, "cpu_limit");
	bool good = !late && json_is_integer(code) && !json_integer_value(code);
	json_t *run_result;

	(void)x;
	(void)output;
	(void)status;
	if (!strcmp(ended, "refused"))
		return blame(oneshot_text(json_object_get(result, "error"),
					  "value"));
	run_result = json_pack(
		"{s:s, s:f, s:O?, s:O, s:O}", "status",
		late ? "TimeLimitExceeded" : "Finished", "execution_time",
		json_number_value(json_object_get(usage, "wall_ms")) / 1000,
		"return_code", json_is_integer(code) ? code : NULL, "stdout",
		json_object_get(result, "stdout"), "stderr",
		json_object_get(result, "stderr"));
	return json_pack("{s:s, s:s, s:n, s:o, s:n, s:{}}", "status",
			 good ? "Success" : "Failed", "message",
			 good ? "" : ended, "compile_result", "run_result",
			 run_result, "executor_pod_name", "files");
}

static void
post_code(struct exchange *x)
{
	static const struct oneshot_form form = { answer, blame, false };
	struct remit_error err;
	uint64_t timeout_ms;
	json_t *doc = fusion_ask_code(x->json, x->key, &timeout_ms, &err);

	if (doc)
		oneshot_run(x, doc, timeout_ms, &form);
	else
		reply_json(x, 400, blame(err.message));
}

const struct route fusion_routes[] = {
	{
		.method = "POST",
		.pattern = "/run_code",
		.serve = post_code,
		.body = BODY_JSON,
		.summary = "Run one program, as SandboxFusion does",
		.takes = "FusionCode",
		.gives = "FusionResult",
		.fails = "FusionResult",
	},
	{
		.method = "POST",
		.pattern = "/run_jupyter",
		.serve = fusion_post_notebook,
		.body = BODY_JSON,
		.summary = "Run cells, as SandboxFusion does",
		.takes = "FusionNotebook",
		.gives = "FusionCells",
		.fails = "FusionCells",
	},
	{ 0 },
};
