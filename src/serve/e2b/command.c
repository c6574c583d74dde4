#include "serve/e2b/command.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "serve/e2b/connect.h"

/* ---- events ---- */

static json_t *
start_json(uint32_t pid)
{
	return json_pack("{s:{s:{s:I}}}", "event", "start", "pid",
			 (json_int_t)pid);
}

static void
send_start(struct exchange *x, uint32_t id, uint32_t pid)
{
	(void)id;
	/* A client that is gone is unsubscribed when it disconnects. */
	(void)!connect_send(x, start_json(pid));
}

static void
send_output(struct exchange *x, enum command_stream stream, const char *base64)
{
	static const char *const names[] = {
		[COMMAND_STDOUT] = "stdout",
		[COMMAND_STDERR] = "stderr",
		[COMMAND_TERMINAL] = "pty",
	};

	(void)!connect_send(x, json_pack("{s:{s:{s:s}}}", "event", "data",
					 names[stream], base64));
}

/* How a command ended: an event or an error. */
struct ending {
	json_t *event; /* or NULL */
	const char *code, *message;
};

static json_t *
end_json(const struct command_end *e)
{
	bool killed = e->kind == COMMAND_SIGNALLED;
	char status[48];
	json_t *end;

	snprintf(status, sizeof(status),
		 killed ? "signal: %d" : "exit status %d", e->value);
	end = json_pack("{s:i, s:b, s:s}", "exitCode", killed ? -1 : e->value,
			"exited", !killed, "status", status);
	if (killed && end)
		json_object_set_new(end, "error", json_string(status));
	return json_pack("{s:{s:o}}", "event", "end", end);
}

static struct ending
ending_of(const struct command_end *e, bool is_dropped)
{
	static const struct {
		const char *code, *message;
	} errors[COMMAND_END_KINDS] = {
		[COMMAND_FAILED] = { "invalid_argument", NULL },
		[COMMAND_REFUSED] = { "resource_exhausted", NULL },
		[COMMAND_TIMEOUT] = { "deadline_exceeded",
				      "the timeout of the command is over" },
		[COMMAND_CPU_LIMIT] = { "deadline_exceeded",
					"the processor time of the sandbox is "
					"used up (cpu_seconds)" },
		[COMMAND_OUTPUT_LIMIT] = { "resource_exhausted",
					   "the command wrote more than "
					   "output_ceiling allows" },
		[COMMAND_INPUT_LIMIT] = { "resource_exhausted",
					  "the command was sent more input "
					  "than stdin_bytes allows" },
		[COMMAND_GONE] = { "unavailable", NULL },
	};

	if (e->kind == COMMAND_EXITED || e->kind == COMMAND_SIGNALLED)
		return (struct ending){ .event = end_json(e) };
	/* Some clients take a stream that breaks off for an error of the
	   network, and do not ask whether the sandbox is live. */
	if (e->kind == COMMAND_GONE && is_dropped)
		return (struct ending){
			.code = errors[COMMAND_GONE].code,
			.message = "the sandbox was killed or reached its end "
				   "of life while the command ran",
		};
	return (struct ending){
		.code = errors[e->kind].code,
		.message = errors[e->kind].message ? errors[e->kind].message
						   : e->text,
	};
}

static void
send_end(struct exchange *x, const struct command_end *e, bool is_dropped)
{
	struct ending end = ending_of(e, is_dropped);

	if (!end.event)
		connect_end(x, end.code, end.message);
	else if (connect_send(x, end.event) == 0)
		connect_end(x, NULL, NULL);
}

static const struct command_form envd = {
	.start = send_start,
	.output = send_output,
	.end = send_end,
};

/* ---- starting ---- */

/* Returns the client's timeout, or 0. */
static uint64_t
timeout_of(const struct exchange *x)
{
	struct http_text given = exchange_header(x, "connect-timeout-ms");
	char text[16];
	uint64_t ms;

	if (!given.len || given.len >= sizeof(text))
		return 0;
	memcpy(text, given.text, given.len);
	text[given.len] = '\0';
	return number_parse(&ms, text) == 0 ? ms : 0;
}

static bool
has_terminal(const json_t *message)
{
	return json_is_object(json_object_get(message, "pty"));
}

/* The parameters for the keeper, and what they point to. */
struct program {
	struct command_params params;
	struct list argv, env;
	char *cwd;
};

static void
program_free(struct program *p)
{
	list_free(&p->argv);
	list_free(&p->env);
	free(p->cwd);
}

/* Returns -1 if memory is exhausted, a variable is not a string, or the size of
   a terminal is not valid. */
static int
program_read(struct program *p, const struct sandbox *sb, const json_t *message,
	     uint64_t timeout_ms)
{
	const json_t *process = json_object_get(message, "process");
	const char *cwd = json_string_value(json_object_get(process, "cwd"));

	p->params = (struct command_params){
		.argv = &p->argv,
		.env = &p->env,
		.reads = json_is_true(json_object_get(message, "stdin")),
		.timeout_ms = timeout_ms,
	};
	if (has_terminal(message) &&
	    e2b_terminal_size(json_object_get(message, "pty"),
			      &p->params.columns, &p->params.rows) < 0)
		return -1;
	if (e2b_program_argv(&p->argv, process) < 0 ||
	    e2b_parse_variables(&p->env, sb->env) < 0 ||
	    e2b_parse_variables(&p->env, json_object_get(process, "envs")) < 0)
		return -1;
	p->cwd = cwd ? e2b_path(cwd, &sb->names) : NULL;
	p->params.cwd = p->cwd;
	return cwd && !p->cwd ? -1 : 0;
}

/* What the list of running commands shows. */
static json_t *
about_json(const json_t *message)
{
	return json_pack("{s:O, s:O*}", "config",
			 json_object_get(message, "process"), "tag",
			 json_object_get(message, "tag"));
}

void
e2b_command_start(struct exchange *x, struct sandbox *sb, json_t *message)
{
	own(program) struct program p = { 0 };
	struct remit_error err;

	if (program_read(&p, sb, message, timeout_of(x)) < 0)
		connect_end(x, "invalid_argument",
			    "envs: must be an object of strings; pty.size: "
			    "cols and rows from 1 to 65535");
	else if (command_start(x, sb->hosted, &p.params, &envd,
			       about_json(message), &err) < 0)
		connect_end(x, connect_code(&err), err.message);
}

/* ---- running commands ---- */

/* Whether a request means this command. */
static bool
fits_selector(const struct command_view *v, const void *wanted)
{
	const json_t *pid = json_object_get(wanted, "pid");
	const json_t *tag = json_object_get(wanted, "tag");

	return (json_is_integer(pid) &&
		json_integer_value(pid) == (json_int_t)v->pid) ||
	       (json_is_string(tag) &&
		json_equal(tag, json_object_get(v->about, "tag")));
}

void
e2b_command_connect(struct exchange *x, struct sandbox *sb,
		    const json_t *selector)
{
	struct command_match match = { fits_selector, selector };
	struct remit_error err;

	if (command_join(x, sb->hosted, match, &envd, NULL, &err) == 0)
		return;
	if (err.code == REMIT_E_INPUT)
		connect_end(x, "not_found", "there is no such process");
	else
		connect_end(x, connect_code(&err), err.message);
}

static json_t *
row_json(const struct command_view *v)
{
	json_t *row = json_copy((json_t *)v->about);

	json_object_set_new(row, "pid", json_integer((json_int_t)v->pid));
	return row;
}

json_t *
e2b_command_list(struct exchange *x, const struct sandbox *sb)
{
	return command_list(x, sb->hosted, row_json);
}

bool
e2b_command_find(struct exchange *x, const struct sandbox *sb,
		 const json_t *selector, struct command_view *out)
{
	struct command_match match = { fits_selector, selector };

	return command_find(x, sb->hosted, match, out);
}
