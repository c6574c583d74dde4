/*
 * native_commands: programs that run beside the cells of a session, some of
 * them in a terminal.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "serve/command.h"
#include "serve/native/command_request.h"
#include "serve/native/delivery.h"
#include "serve/native/native.h"
#include "serve/openapi.h"
#include "serve/server.h"

/* The HTTP thread parses it. One argument of a program can have at most
   128 KiB. */
#define BODY_MAX   ((size_t)1024 * 1024)
#define ARGV_SHOWN 4096

/* ---- events ---- */

/* What ended a command, as an error: with the field of the policy that has the
   limit. */
static json_t *
end_error_json(const struct command_end *e)
{
	static const struct {
		enum remit_code code;
		const char *field, *message;
	} errors[COMMAND_END_KINDS] = {
		[COMMAND_FAILED] = { REMIT_E_INPUT, "", NULL },
		[COMMAND_REFUSED] = { REMIT_E_BUSY, "", NULL },
		[COMMAND_TIMEOUT] = { REMIT_E_REFUSED, "timeout",
				      "the command ran longer than its timeout "
				      "or the policy's" },
		[COMMAND_CPU_LIMIT] = { REMIT_E_REFUSED, "cpu_seconds",
					"the processor time of the session is "
					"used up" },
		[COMMAND_OUTPUT_LIMIT] = { REMIT_E_REFUSED, "output_ceiling",
					   "the command wrote more than the "
					   "policy allows" },
		[COMMAND_INPUT_LIMIT] = { REMIT_E_REFUSED, "stdin_bytes",
					  "the command was sent more input "
					  "than the policy allows" },
		[COMMAND_GONE] = { REMIT_E_GONE, "", NULL },
	};
	struct remit_error err;

	if (e->kind < COMMAND_FAILED)
		return json_null();
	(void)!fail_refused(&err, errors[e->kind].field, "", "%s",
			    errors[e->kind].message ? errors[e->kind].message
						    : e->text);
	err.code = errors[e->kind].code;
	return reply_error_json(&err);
}

static json_t *
end_json(const struct command_end *e, bool is_dropped)
{
	bool exited = e->kind == COMMAND_EXITED;
	bool killed = e->kind == COMMAND_SIGNALLED;
	struct command_end dropped = *e;
	json_t *event, *error;

	if (is_dropped && e->kind == COMMAND_GONE)
		snprintf(dropped.text, sizeof(dropped.text),
			 "the session was ended, or reached the end of its "
			 "life");
	error = end_error_json(&dropped);
	event = json_pack("{s:s, s:s, s:o, s:o}", "type", "end", "status",
			  command_end_status(e), "exit_code",
			  exited ? json_integer(e->value) : json_null(),
			  "signal",
			  killed ? json_integer(e->value) : json_null());
	json_object_set(event, "error",
			json_is_null(error) ? error
					    : json_object_get(error, "error"));
	json_decref(error);
	return event;
}

static json_t *
start_json(uint32_t id, uint32_t pid)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", id);
	return json_pack("{s:s, s:s, s:I}", "type", "start", "id", name, "pid",
			 (json_int_t)pid);
}

static json_t *
output_json(enum command_stream stream, const char *base64)
{
	static const char *const names[] = {
		[COMMAND_STDOUT] = "stdout",
		[COMMAND_STDERR] = "stderr",
		[COMMAND_TERMINAL] = "terminal",
	};

	return json_pack("{s:s, s:s, s:s}", "type", "output", "stream",
			 names[stream], "base64", base64);
}

/* The functions of a form of events. */
#define FORM(name, kind)                                                       \
	static void name##_start(struct exchange *x, uint32_t id,              \
				 uint32_t pid)                                 \
	{                                                                      \
		delivery_send(x, kind, start_json(id, pid));                   \
	}                                                                      \
	static void name##_output(struct exchange *x,                          \
				  enum command_stream stream,                  \
				  const char *base64)                          \
	{                                                                      \
		delivery_send(x, kind, output_json(stream, base64));           \
	}                                                                      \
	static void name##_end(struct exchange *x,                             \
			       const struct command_end *e, bool is_dropped)   \
	{                                                                      \
		delivery_send(x, kind, end_json(e, is_dropped));               \
		reply_end(x);                                                  \
	}                                                                      \
	static void name##_begin(struct exchange *x)                           \
	{                                                                      \
		delivery_begin_stream(x, kind);                                \
	}                                                                      \
	static const struct command_form name = { name##_start, name##_output, \
						  name##_end }

FORM(lines, STREAM_NDJSON);
FORM(sse, STREAM_SSE);

/* ---- starting, listing and joining ---- */

/* Returns a reference to the session in the path, or NULL after it has sent an
   error. */
static struct hosted *
session_with_commands(struct exchange *x)
{
	struct hosted *r = native_session(x);

	if (!r || hosted_has_commands(r))
		return r;
	hosted_unref(r);
	reply_json(x, 409,
		   json_pack("{s:{s:s, s:s, s:s, s:s}}", "error", "code",
			     "input", "message",
			     "this session was opened without commands",
			     "remedy",
			     "Open a session with \"commands\": true and a "
			     "policy that has subprocess_execution.",
			     "where", "subprocess_execution"));
	return NULL;
}

/* Returns the arguments that fit into ARGV_SHOWN bytes: the server keeps them
   as long as the command runs. */
static json_t *
about_json(const struct list *argv)
{
	json_t *shown = json_array();
	size_t len = 0;

	for (size_t i = 0; i < argv->count; i++) {
		len += strlen(argv->items[i]) + 1;
		if (len > ARGV_SHOWN)
			break;
		json_array_append_new(shown, json_string(argv->items[i]));
	}
	return json_pack("{s:o}", "argv", shown);
}

static void
start(struct exchange *x, struct hosted *hosted,
      const struct command_request *r)
{
	bool is_sse = r->stream == STREAM_SSE;
	struct remit_error err;
	json_t *error;

	delivery_begin_stream(x, r->stream);
	if (command_start(x, hosted, &r->params, is_sse ? &sse : &lines,
			  about_json(&r->argv), &err) == 0)
		return;
	error = reply_error_json(&err);
	json_object_set_new(error, "type", json_string("error"));
	delivery_send(x, r->stream, error);
	reply_end(x);
}

static void
post_command(struct exchange *x)
{
	own(command_request) struct command_request r = {
		.stream = delivery_accepted(x),
	};
	struct remit_error err;
	struct hosted *hosted;

	if (command_request_read(&r, x->json, &err) < 0) {
		reply_error(x, &err);
		return;
	}
	hosted = session_with_commands(x);
	if (hosted)
		start(x, hosted, &r);
	hosted_unref(hosted);
}

static json_t *
row_json(const struct command_view *v)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", v->id);
	return json_pack("{s:s, s:I, s:O, s:b}", "id", id, "pid",
			 (json_int_t)v->pid, "argv",
			 json_object_get(v->about, "argv"), "terminal",
			 v->has_terminal);
}

static void
get_commands(struct exchange *x)
{
	struct hosted *r = session_with_commands(x);

	if (r)
		reply_json(x, 200, command_list(x, r, row_json));
	hosted_unref(r);
}

static bool
fits_id(const struct command_view *v, const void *wanted)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", v->id);
	return !strcmp(id, wanted);
}

static struct command_match
match_of(struct exchange *x)
{
	return (struct command_match){ fits_id, exchange_param(x, "command") };
}

static void
get_events(struct exchange *x)
{
	struct hosted *r = session_with_commands(x);
	bool is_sse = delivery_accepted(x) == STREAM_SSE;
	struct remit_error err;

	if (!r)
		return;
	if (command_join(x, r, match_of(x), is_sse ? &sse : &lines,
			 is_sse ? sse_begin : lines_begin, &err) == 0)
		; /* the command ends the reply */
	else if (err.code == REMIT_E_INPUT)
		native_unknown(x, "command");
	else
		reply_error(x, &err);
	hosted_unref(r);
}

/* ---- running commands ---- */

/* Returns the request's session, and in *v the command. The id in *v is 0 after
   it has sent an error. */
static struct hosted *
find_command(struct exchange *x, struct command_view *v)
{
	struct hosted *r = session_with_commands(x);

	if (r && !command_find(x, r, match_of(x), v))
		native_unknown(x, "command");
	return r;
}

static void
reply_done(struct exchange *x, int failed, const struct remit_error *err)
{
	if (failed)
		reply_error(x, err);
	else
		reply_json(x, 200, json_object());
}

static int
send_input(struct exchange *x, struct hosted *r, const struct command_view *v,
	   const struct command_input *in, struct remit_error *err)
{
	if (!v->reads)
		return fail(err, REMIT_E_GONE,
			    "this command reads no input: it was started "
			    "without stdin, or its stdin is closed");
	if (in->ends && v->has_terminal)
		return fail(err, REMIT_E_GONE,
			    "end: the input of a terminal does not end; send "
			    "the text \"\\u0004\"");
	if (in->len &&
	    hosted_command_input(r, v->id, in->bytes, in->len, err) < 0)
		return -1;
	if (!in->ends || !command_close_input(x, r, v->id))
		return 0;
	return hosted_command_input(r, v->id, "", 0, err);
}

static bool
attempt_input(struct exchange *x, bool is_last)
{
	own(command_input) struct command_input in = { 0 };
	struct command_view v = { 0 };
	struct remit_error err;
	bool is_busy = false;
	struct hosted *r;
	int failed;

	if (command_input_read(&in, x->json, &err) < 0) {
		reply_error(x, &err);
		return true;
	}
	r = find_command(x, &v);
	if (v.id) {
		failed = send_input(x, r, &v, &in, &err);
		is_busy = failed && err.code == REMIT_E_BUSY && !is_last;
		if (!is_busy)
			reply_done(x, failed, &err);
	}
	hosted_unref(r);
	return !is_busy;
}

static void
post_input(struct exchange *x)
{
	exchange_repeat(x, attempt_input);
}

static void
post_resize(struct exchange *x)
{
	struct command_view v = { 0 };
	struct remit_error err;
	unsigned columns, rows;
	struct hosted *r;

	if (command_size_read(&columns, &rows, x->json, &err) < 0) {
		reply_error(x, &err);
		return;
	}
	r = find_command(x, &v);
	if (v.id && !v.has_terminal)
		reply_fail(x, 409, "gone", "this command has no terminal");
	else if (v.id)
		reply_done(x,
			   hosted_command_resize(r, v.id, columns, rows, &err),
			   &err);
	hosted_unref(r);
}

static void
delete_command(struct exchange *x)
{
	struct command_view v = { 0 };
	struct hosted *r = find_command(x, &v);
	struct remit_error err;

	if (v.id)
		reply_done(x, hosted_command_signal(r, v.id, SIGKILL, &err),
			   &err);
	hosted_unref(r);
}

#define COMMANDS "/v1/sessions/{id}/commands"

const struct route native_command_routes[] = {
	{
		.method = "POST",
		.pattern = COMMANDS,
		.serve = post_command,
		.body = BODY_JSON,
		.body_max = BODY_MAX,
		.summary = "Start a program beside the cells of a session",
		.request_schema = "NewCommand",
		.type = "application/x-ndjson",
		.streams = true,
	},
	{
		.method = "GET",
		.pattern = COMMANDS,
		.serve = get_commands,
		.summary = "The running commands of a session",
		.reply_schema = "Commands",
	},
	{
		.method = "GET",
		.pattern = COMMANDS "/{command}/events",
		.serve = get_events,
		.summary = "Receive the events of a running command",
		.type = "application/x-ndjson",
		.streams = true,
	},
	{
		.method = "POST",
		.pattern = COMMANDS "/{command}/input",
		.serve = post_input,
		.body = BODY_JSON,
		.body_max = BODY_MAX,
		.summary = "Send input to a command",
		.request_schema = "CommandInput",
		.reply_schema = "Nothing",
	},
	{
		.method = "POST",
		.pattern = COMMANDS "/{command}/resize",
		.serve = post_resize,
		.body = BODY_JSON,
		.summary = "Change the size of a command's terminal",
		.request_schema = "TerminalSize",
		.reply_schema = "Nothing",
	},
	{
		.method = "DELETE",
		.pattern = COMMANDS "/{command}",
		.serve = delete_command,
		.summary = "Kill a command",
		.reply_schema = "Nothing",
	},
	{ 0 },
};
