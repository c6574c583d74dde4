/*
 * fusion: the part of SandboxFusion's API that runs Python.
 */
#include <string.h>

#include "base/loop.h"
#include "base/text.h"
#include "client/displays.h"
#include "client/result_view.h"
#include "serve/compat/fusion_request.h"
#include "serve/compat/oneshot.h"
#include "serve/e2b/result.h"
#include "serve/native/native.h"
#include "serve/server.h"

/* ---- one program ---- */

static json_t *
code_failure(const char *message)
{
	return json_pack("{s:s, s:s, s:n, s:n, s:n, s:{}}", "status",
			 "SandboxError", "message", message, "compile_result",
			 "run_result", "executor_pod_name", "files");
}

static json_t *
answer_code(const struct exchange *x, const json_t *result,
	    const struct buf *output, int *status)
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
		return code_failure(oneshot_text(
			json_object_get(result, "error"), "value"));
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
	static const struct oneshot_form form = { answer_code, code_failure,
						  false };
	struct remit_error err;
	uint64_t timeout_ms;
	json_t *doc = fusion_read_code(x->json, x->key, &timeout_ms, &err);

	if (doc)
		oneshot_run(x, doc, timeout_ms, &form);
	else
		reply_json(x, 400, code_failure(err.message));
}

/* ---- a notebook ---- */

/* The maximum size of an answer, which is complete before it is sent. */
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
/* Extra lifetime of the session after the notebook's timeout, for its last
   steps. */
#define SLACK_MS 30000

/* The cells of one request, which run one after the other in a session that
   ends with the request, and the files that are fetched from it. */
struct notebook {
	struct exchange *x;
	struct hosted *hosted;
	struct request *first; /* the first cell, until it is lent */
	uint64_t total_ms, cell_ms, begun_us;
	size_t at, fetched;
	size_t bytes; /* of the answer so far */
	/* Stored as text: parsed JSON from the code would take fifty times as
	   much memory. */
	struct buf cells;
	struct buf shown; /* displays of the running cell */
	json_t *files;
	bool is_late;
	bool has_ended; /* the session ended before its last cell */
	struct remit_file_task task;
	struct remit_error err; /* why the run failed; code 0: it did not */
};

static void notebook_step(struct notebook *n);

static void
notebook_free(void *notebook)
{
	struct notebook *n = notebook;

	hosted_unref(n->hosted);
	request_free(n->first);
	buf_free(&n->cells);
	buf_free(&n->shown);
	json_decref(n->files);
	free(n);
}

static uint64_t
spent_ms(const struct notebook *n)
{
	return (loop_now_us() - n->begun_us) / 1000;
}

/* ---- its answer ---- */

static json_t *
notebook_failure(const char *message)
{
	return json_pack("{s:s, s:s, s:n, s:[], s:n, s:{}}", "status",
			 "SandboxError", "message", message, "driver", "cells",
			 "executor_pod_name", "files");
}

/* Writes a document, which it takes ownership of, with one more member: a list
   whose elements are JSON text. */
static int
add_with_list(struct buf *out, json_t *doc, const char *name,
	      const struct buf *list)
{
	json_auto_t *members = doc;
	const char *key;
	json_t *value;

	if (!members || buf_add(out, "{", 1) < 0)
		return -1;
	json_object_foreach(members, key, value)
	{
		if (text_add_name(out, key) < 0 ||
		    text_add_json(out, value) < 0)
			return -1;
	}
	if (text_add_name(out, name) < 0 || buf_add(out, "[", 1) < 0 ||
	    buf_add(out, buf_text(list), list->len) < 0)
		return -1;
	return buf_add(out, "]}", 2);
}

static int
answer_notebook(const struct notebook *n, struct buf *out)
{
	bool good = !n->is_late && !n->has_ended;
	json_t *driver =
		json_pack("{s:s, s:f, s:o, s:s, s:s}", "status",
			  n->is_late ? "TimeLimitExceeded" : "Finished",
			  "execution_time", (double)spent_ms(n) / 1000,
			  "return_code", good ? json_integer(0) : json_null(),
			  "stdout", "", "stderr", "");

	return add_with_list(
		out,
		json_pack("{s:s, s:s, s:o, s:n, s:O}", "status",
			  good ? "Success" : "Failed", "message",
			  n->is_late	 ? "the time in total_timeout is over"
			  : n->has_ended ? "a cell has ended the session"
					 : "",
			  "driver", driver, "executor_pod_name", "files",
			  n->files),
		"cells", &n->cells);
}

static void
notebook_finish(struct notebook *n)
{
	own(buf) struct buf text = BUF_INIT(2 * ANSWER_MAX);

	if (n->hosted)
		hosted_drop(n->hosted);
	if (!n->err.code && answer_notebook(n, &text) < 0)
		fail_memory(&n->err, "notebook");
	if (!n->err.code)
		reply_bytes(n->x, 200, "application/json", buf_text(&text),
			    text.len);
	else
		reply_json(n->x, n->err.code == REMIT_E_BUSY ? 429 : 200,
			   notebook_failure(n->err.message));
	exchange_unref_sent(n->x);
}

static bool
exceeds_answer_max(struct notebook *n, size_t more)
{
	n->bytes += more;
	return n->bytes > ANSWER_MAX;
}

static void
fail_answer_too_large(struct notebook *n)
{
	fail(&n->err, REMIT_E_INPUT,
	     "the answer would be larger than %zu bytes", ANSWER_MAX);
}

/* ---- its cells ---- */

static json_t *
part_json(const struct remit_part *p)
{
	size_t len = strlen(p->mime);
	own_mem char *coded = NULL;

	if (len >= 4 && !strcmp(p->mime + len - 4, "json"))
		return json_loadb(p->bytes, p->len,
				  JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (displays_is_text(p->mime))
		return text_to_json(p->bytes, p->len);
	coded = base64_encode(p->bytes, p->len);
	return coded ? json_string(coded) : NULL;
}

static void
notebook_on_display(void *user, const struct remit_display *d)
{
	struct notebook *n = user;
	own_mem char *text = NULL;
	json_auto_t *bundle = NULL;
	size_t len = 0;

	if (n->err.code)
		return;
	bundle = json_object();
	for (size_t i = 0; i < d->part_count; i++)
		json_object_set_new(bundle, d->parts[i].mime,
				    part_json(&d->parts[i]));
	text = bundle ? text_from_json(bundle, &len) : NULL;
	if (!text || exceeds_answer_max(n, len + 1) ||
	    (n->shown.len && buf_add(&n->shown, ",", 1) < 0) ||
	    buf_add(&n->shown, text, len) < 0)
		fail_answer_too_large(n);
}

/* Errors in Jupyter's format: one message whose traceback is a list of
   lines. */
static json_t *
errors_of(const json_t *result)
{
	json_auto_t *line = e2b_error_line(result);
	const char *at = oneshot_text(line, "traceback");
	json_t *lines = json_array();

	if (!line)
		return lines;
	while (*at) {
		size_t len = strcspn(at, "\n");

		json_array_append_new(lines, text_to_json(at, len));
		at += len + (at[len] == '\n');
	}
	return json_pack("[{s:O, s:O, s:o}]", "ename",
			 json_object_get(line, "name"), "evalue",
			 json_object_get(line, "value"), "traceback", lines);
}

/* stderr without the traceback, which is reported as the error. */
static json_t *
stderr_of(const json_t *result)
{
	const json_t *given = json_object_get(result, "stderr");
	const char *traceback =
		oneshot_text(json_object_get(result, "error"), "traceback");
	size_t len = json_string_length(given), tail = strlen(traceback);
	const char *text = json_string_value(given);

	if (tail && len >= tail && !memcmp(text + len - tail, traceback, tail))
		len -= tail;
	return text_to_json(text ? text : "", len);
}

static void
note_cell(struct notebook *n, const json_t *result)
{
	json_t *errors = errors_of(result);
	json_t *cell = json_pack("{s:O, s:o, s:s, s:o}", "stdout",
				 json_object_get(result, "stdout"), "stderr",
				 stderr_of(result), "status",
				 json_array_size(errors) ? "error" : "ok",
				 "error", errors);
	const char *state =
		oneshot_text(json_object_get(result, "session"), "state");
	size_t before = n->cells.len + n->shown.len; /* already counted */
	int failed = n->cells.len && buf_add(&n->cells, ",", 1) < 0;

	failed |= add_with_list(&n->cells, cell, "display", &n->shown);
	if (failed || exceeds_answer_max(n, n->cells.len - before))
		fail_answer_too_large(n);
	n->shown.len = 0;
	n->has_ended = strcmp(state, "open") != 0;
	n->is_late = spent_ms(n) >= n->total_ms;
}

static void
notebook_on_cell(void *user, struct remit_result *res,
		 const struct remit_error *err)
{
	struct notebook *n = user;
	const json_t *result = res ? result_view_document(res) : NULL;
	const char *status = oneshot_text(result, "status");
	bool is_busy = !strcmp(status, "busy");

	if (res)
		metrics_program(&n->x->server->metrics,
				remit_result_status(res));
	if (err)
		n->err = *err;
	else if (!strcmp(status, "refused") || is_busy)
		fail(&n->err, is_busy ? REMIT_E_BUSY : REMIT_E_INPUT, "%s",
		     oneshot_text(json_object_get(result, "error"), "value"));
	else
		note_cell(n, result);
	notebook_step(n);
}

static const struct hosted_events cell_events = { .display =
							  notebook_on_display,
						  .result = notebook_on_cell };

/* Returns the next cell as a request; the first was parsed before the session
   began. */
static struct request *
next_request(struct notebook *n)
{
	json_t *all = json_object_get(n->x->json, "cells");
	json_auto_t *doc = fusion_cell(json_array_get(all, n->at++), n->x->key);
	struct request *r = n->first;

	n->first = NULL;
	if (r || request_read(&r, REQUEST_CELL, doc, n->x->key, &n->err) == 0)
		return r;
	return NULL;
}

static void
run_cell(struct notebook *n)
{
	uint64_t spent = spent_ms(n);
	uint64_t left = spent < n->total_ms ? n->total_ms - spent : 1;
	struct request *r = next_request(n);
	struct hosted_job job = { 0 };
	struct remit_error err;

	if (!r) {
		notebook_finish(n);
		return;
	}
	job.job = r->job;
	job.job.timeout_ms =
		n->cell_ms && n->cell_ms < left ? n->cell_ms : left;
	job.loan = (struct hosted_loan){ request_free, r };
	if (hosted_cell(n->hosted, &job, &cell_events, n, NULL, &err) < 0) {
		request_free(r);
		n->err = err;
		notebook_finish(n);
	}
}

/* ---- its files ---- */

static const char *
wanted_file(const struct notebook *n)
{
	return json_string_value(json_array_get(
		json_object_get(n->x->json, "fetch_files"), n->fetched));
}

static void
notebook_on_file(void *user, const struct remit_file_answer *a)
{
	struct notebook *n = user;
	own_mem char *coded = NULL;

	if (a->len < a->entries[0].size || exceeds_answer_max(n, a->len)) {
		fail_answer_too_large(n);
		return;
	}
	coded = base64_encode(a->bytes, a->len);
	if (coded)
		json_object_set_new(n->files, wanted_file(n),
				    json_string(coded));
	else
		fail_memory(&n->err, "notebook");
}

/* Missing files are left out, as SandboxFusion does. */
static void
notebook_on_fetched(void *user, struct remit_result *res,
		    const struct remit_error *err)
{
	struct notebook *n = user;

	(void)res;
	if (err && err->sys_errno != ENOENT && err->sys_errno != EISDIR &&
	    err->sys_errno != ENOTDIR)
		n->err = *err;
	n->fetched++;
	notebook_step(n);
}

static const struct hosted_events file_events = { .file = notebook_on_file,
						  .result =
							  notebook_on_fetched };

static void
fetch_file(struct notebook *n)
{
	struct hosted_loan none = { 0 };
	struct remit_error err;

	n->task = (struct remit_file_task){ .op = REMIT_FILE_READ,
					    .path = wanted_file(n) };
	if (hosted_file(n->hosted, &n->task, none, &file_events, n, &err) < 0) {
		n->err = err;
		notebook_finish(n);
	}
}

/* ---- its steps, one after the other ---- */

/* Called by the hosted session's worker after each step. */
static void
notebook_step(struct notebook *n)
{
	const json_t *cells = json_object_get(n->x->json, "cells");
	bool goes_on = !n->err.code && !n->has_ended;

	if (goes_on && n->at < json_array_size(cells) && !n->is_late)
		run_cell(n);
	else if (goes_on && wanted_file(n))
		fetch_file(n);
	else
		notebook_finish(n);
}

static void
notebook_on_open(void *user, struct remit_result *res,
		 const struct remit_error *err)
{
	struct notebook *n = user;

	(void)res;
	if (err)
		n->err = *err;
	n->begun_us = loop_now_us();
	notebook_step(n);
}

static const struct hosted_events open_events = { .result = notebook_on_open };

static void
notebook_on_gone(void *user)
{
	struct notebook *n = user;

	hosted_drop(n->hosted);
}

/* ---- its request ---- */

/* Opens the session for a notebook. Returns -1 with an error. On success the
   hosted session owns the session's request. */
static int
notebook_begin(struct notebook *n, const struct fusion_notebook *wanted,
	       struct remit_error *err)
{
	struct exchange *x = n->x;
	struct request *r = NULL;
	struct hosted_options opt;

	if (request_read(&n->first, REQUEST_CELL, wanted->first, x->key, err) <
		    0 ||
	    request_read(&r, REQUEST_SESSION, wanted->session, x->key, err) < 0)
		return -1;
	if (native_check_limits(x, r->memory_bytes, err) < 0) {
		request_free(r);
		return -1;
	}
	n->total_ms = wanted->total_ms;
	n->cell_ms = wanted->cell_ms;
	opt = (struct hosted_options){
		.owner = x->owner,
		.policy_json = r->policy_text,
		.life_ms = wanted->total_ms + SLACK_MS,
		.memory_bytes = r->memory_bytes,
		.result_bytes = r->result_bytes,
		.loan = { request_free, r },
	};
	exchange_ref(x);
	if (hosted_open(x->server->hosted_table, &opt, &open_events, n,
			&n->hosted, err) < 0) {
		request_free(r);
		exchange_unref(x);
		return -1;
	}
	exchange_on_gone(x, notebook_on_gone, n);
	return 0;
}

static void
fusion_post_notebook(struct exchange *x)
{
	struct notebook *n = calloc(1, sizeof(*n));
	struct fusion_notebook wanted = { 0 };
	struct remit_error err;

	if (!n) {
		reply_json(x, 500, notebook_failure("no memory"));
		return;
	}
	n->x = x;
	n->cells.cap = n->shown.cap = ANSWER_MAX;
	n->files = json_object();
	exchange_own(x, n, notebook_free);
	if (fusion_read_notebook(&wanted, x->json, x->key, &err) < 0 ||
	    notebook_begin(n, &wanted, &err) < 0)
		reply_json(x, err.code == REMIT_E_BUSY ? 429 : 400,
			   notebook_failure(err.message));
	fusion_notebook_free(&wanted);
}

/* ---- routes ---- */

const struct route fusion_routes[] = {
	{
		.method = "POST",
		.pattern = "/run_code",
		.serve = post_code,
		.body = BODY_JSON,
		.summary = "Run one program, as SandboxFusion does",
		.request_schema = "FusionCode",
		.reply_schema = "FusionResult",
		.error_schema = "FusionResult",
	},
	{
		.method = "POST",
		.pattern = "/run_jupyter",
		.serve = fusion_post_notebook,
		.body = BODY_JSON,
		.summary = "Run cells, as SandboxFusion does",
		.request_schema = "FusionNotebook",
		.reply_schema = "FusionCells",
		.error_schema = "FusionCells",
	},
	{ 0 },
};
