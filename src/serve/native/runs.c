/*
 * native_runs: runs, their artifacts, and answers to their calls and questions.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "client/files/content_type.h"
#include "serve/native/delivery.h"
#include "serve/native/native.h"
#include "serve/server.h"

/* An artifact is sent in pieces of this size. */
#define ARTIFACT_PIECE_BYTES ((size_t)64 * 1024)

/* ---- runs ---- */

int
native_check_limits(const struct exchange *x, uint64_t memory_bytes,
		    struct remit_error *err)
{
	return server_check_limits(x->server, x->key, memory_bytes, err);
}

struct request *
native_request(struct exchange *x, enum request_kind kind)
{
	struct remit_error err;
	struct request *r;

	if (request_read(&r, kind, x->json, x->key, &err) < 0) {
		/* Refused by the key's policy, not by this machine. */
		if (err.code == REMIT_E_REFUSED)
			reply_json(x, 403, reply_error_json(&err));
		else
			reply_error(x, &err);
		return NULL;
	}
	if (kind == REQUEST_CELL ||
	    native_check_limits(x, r->memory_bytes, &err) == 0)
		return r;
	request_free(r);
	reply_error(x, &err);
	return NULL;
}

static void
post_run(struct exchange *x)
{
	struct request *r = native_request(x, REQUEST_RUN);
	struct hosted_options opt = { 0 };
	struct hosted_job job = { 0 };
	struct remit_error err;
	struct delivery *dl;

	if (!r)
		return;
	dl = delivery_new(x, r);
	if (!dl) {
		request_free(r);
		return;
	}
	opt = (struct hosted_options){
		.owner = x->owner,
		.policy_json = r->policy_text,
		.tools = r->tools,
		.tool_count = r->tool_count,
		.exports = r->exports,
		.memory_bytes = r->memory_bytes,
		.result_bytes = r->result_bytes,
		.loan = { request_free, r },
	};
	job.job = r->job;
	if (hosted_run(x->server->hosted_table, &opt, &job, dl->events, dl,
		       &dl->hosted, &err) < 0) {
		request_free(r);
		delivery_fail(dl, &err);
		return;
	}
	delivery_begin(dl);
}

static void
post_interrupt(struct exchange *x)
{
	struct hosted *r = hosted_find_run(x->server->hosted_table, x->owner,
					   exchange_param(x, "id"));

	if (!r) {
		native_unknown(x, "run");
		return;
	}
	hosted_interrupt(r);
	hosted_unref(r);
	reply_json(x, 200, json_object());
}

/* ---- answers ---- */

static void
post_call(struct exchange *x)
{
	const json_t *result = json_object_get(x->json, "result");
	const json_t *error = json_object_get(x->json, "error");
	const char *id = exchange_param(x, "id");
	own_mem char *text = NULL;
	int failed;

	if (!result == !error || json_object_size(x->json) != 1 ||
	    (error && !json_is_string(error))) {
		reply_fail(x, 400, "input",
			   "the body must have either \"result\" or \"error\", "
			   "a string");
		return;
	}
	if (result) {
		text = json_dumps(result, JSON_ENCODE_ANY | JSON_COMPACT |
						  JSON_REAL_PRECISION(17));
		if (!text) {
			reply_fail(x, 500, "memory", "no memory");
			return;
		}
		failed = hosted_table_answer_call(x->server->hosted_table,
						  x->owner, id, text,
						  strlen(text));
	} else {
		failed = hosted_table_fail_call(x->server->hosted_table,
						x->owner, id,
						json_string_value(error));
	}
	if (failed < 0)
		native_unknown(x, "call");
	else
		reply_json(x, 200, json_object());
}

static void
post_question(struct exchange *x)
{
	static const struct {
		const char *word;
		enum remit_answer answer;
	} answers[] = {
		{ "deny", REMIT_DENY },
		{ "once", REMIT_ALLOW_ONCE },
		{ "run", REMIT_ALLOW_RUN },
	};
	const char *word =
		json_string_value(json_object_get(x->json, "answer"));

	for (size_t i = 0; word && i < ARRAY_LEN(answers); i++) {
		if (strcmp(answers[i].word, word))
			continue;
		if (hosted_table_answer_question(
			    x->server->hosted_table, x->owner,
			    exchange_param(x, "id"), answers[i].answer) < 0)
			native_unknown(x, "question");
		else
			reply_json(x, 200, json_object());
		return;
	}
	reply_fail(x, 400, "input",
		   "answer: must be \"deny\", \"once\" or \"run\"");
}

/* ---- artifacts ---- */

/* Browsers must not render files of a program as pages of this server. */
static void
send_artifact(struct exchange *x)
{
	const char *path = exchange_param(x, "path");
	own_mem char *piece = malloc(ARTIFACT_PIECE_BYTES);
	own_fd int fd = artifact_store_read(x->server->artifacts, x->owner,
					    exchange_param(x, "id"), path);
	ssize_t n =
		fd < 0 || !piece ? -1 : read(fd, piece, ARTIFACT_PIECE_BYTES);

	if (n < 0) {
		reply_fail(x, 404, "input",
			   "there is no such artifact, or it no longer exists");
		return;
	}
	reply_header(x, "Content-Disposition", "attachment");
	reply_header(x, "Content-Security-Policy", "sandbox");
	reply_begin(x, 200, content_type(path, piece, (size_t)n));
	while (n > 0) {
		if (reply_piece(x, piece, (size_t)n) < 0)
			return;
		n = read(fd, piece, ARTIFACT_PIECE_BYTES);
	}
	reply_end(x);
}

static void
get_artifact(struct exchange *x)
{
	exchange_in_thread(x, send_artifact);
}

const struct route native_run_routes[] = {
	{
		.method = "POST",
		.pattern = "/v1/runs",
		.serve = post_run,
		.body = BODY_JSON,
		.summary = "Run one program",
		.request_schema = "Run",
		.reply_schema = "Result",
		.streams = true,
	},
	{
		.method = "POST",
		.pattern = "/v1/runs/{id}/interrupt",
		.serve = post_interrupt,
		.body = BODY_MAYBE,
		.summary = "Interrupt a run",
		.reply_schema = "Nothing",
	},
	{
		.method = "GET",
		.pattern = "/v1/runs/{id}/artifacts/{path...}",
		.serve = get_artifact,
		.summary = "A file that left a run's jail",
		.type = "*/*",
	},
	{
		.method = "POST",
		.pattern = "/v1/calls/{id}",
		.serve = post_call,
		.body = BODY_JSON,
		.summary = "Answer a tool call",
		.request_schema = "CallAnswer",
		.reply_schema = "Nothing",
	},
	{
		.method = "POST",
		.pattern = "/v1/questions/{id}",
		.serve = post_question,
		.body = BODY_JSON,
		.summary = "Answer a question",
		.request_schema = "QuestionAnswer",
		.reply_schema = "Nothing",
	},
	{ 0 },
};
