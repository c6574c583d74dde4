/*
 * e2b_execute: runs code in a context of a sandbox and sends its events line by
 * line. Clients can stop it only by disconnecting.
 */
#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "base/text.h"
#include "client/result_view.h"
#include "serve/e2b/part.h"
#include "serve/e2b/result.h"

/* An incomplete line is buffered up to this size and this time. */
#define LINE_MAX_BYTES (64 * 1024)
#define LINE_MAX_US    200000

/* Output that waits for the end of its line. */
struct pending {
	struct buf bytes;
	uint64_t since_us;
};

struct execution {
	struct exchange *x;
	struct sandbox *sb;
	uint64_t cell;
	char context[HOSTED_ID_SIZE];
	struct pending out, err;
	bool was_begun;
};

/* ---- cells ---- */

void
e2b_job_free(void *job)
{
	struct e2b_job *j = job;

	if (!j)
		return;
	list_free(&j->env);
	free(j->code);
	free(j);
}

struct e2b_job *
e2b_job_new(const struct sandbox *sb, const char *context, char *code,
	    const json_t *env)
{
	struct e2b_job *j = calloc(1, sizeof(*j));

	if (!j || !code || e2b_parse_variables(&j->env, sb->env) < 0 ||
	    e2b_parse_variables(&j->env, env) < 0) {
		free(code);
		e2b_job_free(j);
		return NULL;
	}
	j->code = code;
	snprintf(j->context, sizeof(j->context), "%s", context);
	j->hosted.job = (struct remit_job)REMIT_JOB_INIT;
	j->hosted.job.code = code;
	j->hosted.job.code_len = strlen(code);
	j->hosted.job.context = j->context;
	j->hosted.job.env = (const char *const *)j->env.items;
	j->hosted.loan = (struct hosted_loan){ e2b_job_free, j };
	return j;
}

/* ---- output, by lines ---- */

static void
send_output(struct execution *e, enum remit_stream stream, const char *bytes,
	    size_t len)
{
	/* execution_on_gone() handles a disconnected client. */
	if (len && e2b_line(e->x, e2b_output_line(stream, bytes, len)) < 0)
		return;
}

static void
flush_pending(struct execution *e, enum remit_stream stream)
{
	struct pending *p = stream == REMIT_STDOUT ? &e->out : &e->err;

	send_output(e, stream, buf_text(&p->bytes), p->bytes.len);
	buf_drop(&p->bytes, p->bytes.len);
}

/* Finds text that may be the traceback of an error: clients receive it as an
   error, and not as output. */
static const char *
find_traceback(const char *text)
{
	static const char *const heads[] = { "Traceback (most recent call",
					     "  File \"" };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		const char *at = strstr(text, heads[i]);

		if (at && (at == text || at[-1] == '\n'))
			return at;
	}
	return NULL;
}

/* Returns how many bytes to send: up to the last newline, or all after a
   timeout. */
static size_t
whole_lines(const struct pending *p, bool is_err)
{
	const char *text = buf_text(&p->bytes);
	const char *held = is_err ? find_traceback(text) : NULL;
	const char *end = memrchr(text, '\n', p->bytes.len);

	if (held && p->bytes.len <= LINE_MAX_BYTES)
		return (size_t)(held - text);
	if (p->bytes.len > LINE_MAX_BYTES ||
	    (!end && loop_now_us() - p->since_us > LINE_MAX_US))
		return text_is_cut(text, p->bytes.len)
			       ? text_valid_prefix(text, p->bytes.len)
			       : p->bytes.len;
	return end ? (size_t)(end - text) + 1 : 0;
}

static void
execution_on_output(void *user, enum remit_stream stream, const char *bytes,
		    size_t len)
{
	struct execution *e = user;
	struct pending *p = stream == REMIT_STDOUT ? &e->out : &e->err;
	size_t whole;

	if (!p->bytes.len)
		p->since_us = loop_now_us();
	if (buf_add(&p->bytes, bytes, len) < 0)
		return; /* no memory, or more than any policy allows */
	whole = whole_lines(p, stream == REMIT_STDERR);
	send_output(e, stream, buf_text(&p->bytes), whole);
	buf_drop(&p->bytes, whole);
}

static void
flush_all(struct execution *e)
{
	flush_pending(e, REMIT_STDOUT);
	flush_pending(e, REMIT_STDERR);
}

static void
execution_on_display(void *user, const struct remit_display *d)
{
	struct execution *e = user;

	flush_all(e);
	if (e2b_line(e->x, e2b_result_line(d)) < 0)
		return;
}

/* ---- beginning and end ---- */

static void
execution_on_begin(void *user, struct hosted *r)
{
	struct execution *e = user;
	struct e2b *all = e->x->server->e2b;
	struct context *c;
	uint64_t count = 0;

	(void)r;
	pthread_mutex_lock(&all->lock);
	memcpy(e->sb->running, e->context, sizeof(e->context));
	c = context_find(e->sb, e->context);
	if (c)
		count = ++c->executions;
	pthread_mutex_unlock(&all->lock);
	e->was_begun = true;
	if (e2b_line(e->x,
		     json_pack("{s:s, s:I}", "type", "number_of_executions",
			       "execution_count", (json_int_t)count)) < 0)
		return;
}

static bool
is_first_result(struct execution *e)
{
	struct e2b *all = e->x->server->e2b;
	bool first;

	pthread_mutex_lock(&all->lock);
	first = !e->sb->enforcement_sent;
	e->sb->enforcement_sent = true;
	e->sb->running[0] = '\0';
	pthread_mutex_unlock(&all->lock);
	return first;
}

static void
drop_traceback(struct execution *e, const char *traceback)
{
	struct buf *b = &e->err.bytes;
	size_t len = strlen(traceback);

	if (b->len >= len && !memcmp(b->data + b->len - len, traceback, len))
		b->len -= len;
}

static void
send_end(struct execution *e, struct remit_result *res)
{
	json_t *error = e2b_error_line(result_view_document(res));
	const char *traceback =
		json_string_value(json_object_get(error, "traceback"));

	if (traceback)
		drop_traceback(e, traceback);
	flush_all(e);
	if ((error && e2b_line(e->x, error) < 0) ||
	    e2b_line(e->x, e2b_remit_line(res, is_first_result(e))) < 0 ||
	    e2b_line(e->x, json_pack("{s:s}", "type", "end_of_execution")) < 0)
		return;
}

static void
execution_on_result(void *user, struct remit_result *res,
		    const struct remit_error *err)
{
	struct execution *e = user;

	if (res)
		metrics_program(&e->x->server->metrics,
				remit_result_status(res));
	if (res) {
		send_end(e, res);
		reply_end(e->x);
	} else if (err->code == REMIT_E_GONE) {
		/* Killed: clients expect the connection to break. */
		reply_abort(e->x);
	} else {
		if (e2b_line(e->x,
			     json_pack("{s:s, s:s, s:s, s:s}", "type", "error",
				       "name", remit_code_name(err->code),
				       "value", err->message, "traceback",
				       err->message)) == 0)
			e2b_line(e->x, json_pack("{s:s}", "type",
						 "end_of_execution"));
		reply_end(e->x);
	}
	exchange_unref(e->x);
}

static const struct hosted_events events = {
	.begin = execution_on_begin,
	.output = execution_on_output,
	.display = execution_on_display,
	.result = execution_on_result,
};

static void
execution_on_gone(void *user)
{
	struct execution *e = user;

	hosted_cancel(e->sb->hosted, e->cell);
}

static void
execution_free(void *execution)
{
	struct execution *e = execution;

	sandbox_unref(e->sb);
	buf_free(&e->out.bytes);
	buf_free(&e->err.bytes);
	free(e);
}

/* ---- the request ---- */

/* Sets the language of a context unless the request names another. Returns
   false if there is no such context. */
static bool
find_language(struct exchange *x, struct sandbox *sb, const char *id,
	      enum e2b_language *language)
{
	struct e2b *all = x->server->e2b;
	const struct context *c;

	pthread_mutex_lock(&all->lock);
	c = context_find(sb, id);
	if (c && c->language != E2B_PYTHON)
		*language = c->language;
	pthread_mutex_unlock(&all->lock);
	return c != NULL;
}

static void
begin_execution(struct exchange *x, struct sandbox *sb, const char *context,
		enum e2b_language language)
{
	const char *code = json_string_value(json_object_get(x->json, "code"));
	const json_t *env = json_object_get(x->json, "env_vars");
	struct e2b_job *j = e2b_job_new(
		sb, context,
		language == E2B_BASH ? e2b_script_code(code) : e2b_dedent(code),
		json_is_object(env) ? env : NULL);
	struct execution *e = calloc(1, sizeof(*e));
	struct remit_error err;

	if (!j || !e) {
		e2b_fail(x, 400, "env_vars: must be an object of strings");
		e2b_job_free(j);
		free(e);
		return;
	}
	*e = (struct execution){
		.x = exchange_ref(x),
		.sb = sandbox_ref(sb),
		.out.bytes = BUF_INIT((size_t)1 << 30),
		.err.bytes = BUF_INIT((size_t)1 << 30),
	};
	memcpy(e->context, j->context, sizeof(e->context));
	exchange_own(x, e, execution_free);
	reply_begin(x, 200, "application/x-ndjson");
	reply_keepalive(x, "{\"type\": \"keepalive\"}\n");
	if (hosted_cell(sb->hosted, &j->hosted, &events, e, &e->cell, &err) <
	    0) {
		e2b_job_free(j);
		execution_on_result(e, NULL, &err);
		return;
	}
	exchange_on_gone(x, execution_on_gone, e);
}

static void
post_execute(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	const char *wrong = e2b_code_problem(x->json);
	const char *context =
		json_string_value(json_object_get(x->json, "context_id"));
	enum e2b_language language = E2B_PYTHON;

	if (!sb)
		return;
	context = context ? context : "main";
	if (wrong || e2b_read_language(x->json, &language) < 0)
		e2b_fail(x, 400, "%s", wrong);
	else if (!find_language(x, sb, context, &language))
		e2b_fail(x, 404, "Context %.40s not found", context);
	else if (e2b_has_language(x, sb, language))
		begin_execution(x, sb, context, language);
	sandbox_unref(sb);
}

/* Envd and the interpreter share this path and reply differently. */
static void
get_health(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);

	if (!sb)
		return;
	sandbox_unref(sb);
	if (exchange_header_is(x, "e2b-sandbox-port", "49999") ||
	    x->port == E2B_CODE_PORT || !strncmp(x->parsed.host, "49999-", 6))
		reply_bytes(x, 200, "text/plain", "OK", 2);
	else
		reply_bytes(x, 204, NULL, "", 0);
}

const struct route e2b_code_routes[] = {
	{
		.method = "POST",
		.pattern = "/execute",
		.serve = post_execute,
		.body = BODY_JSON,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{
		.method = "GET",
		.pattern = "/health",
		.serve = get_health,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
		.while_draining = true,
	},
	{
		.method = "GET",
		.pattern = "/contexts",
		.serve = e2b_get_contexts,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{
		.method = "POST",
		.pattern = "/contexts",
		.serve = e2b_post_context,
		.body = BODY_MAYBE,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{
		.method = "POST",
		.pattern = "/contexts/{id}/restart",
		.serve = e2b_restart_context,
		.body = BODY_MAYBE,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{
		.method = "DELETE",
		.pattern = "/contexts/{id}",
		.serve = e2b_delete_context,
		.body = BODY_MAYBE,
		.is_open = true,
		.admits = e2b_admits,
		.fail = e2b_fail_text,
	},
	{ 0 },
};
