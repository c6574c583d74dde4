/*
 * e2b_process: the routes of envd's service for commands.
 */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "serve/e2b/command.h"
#include "serve/e2b/connect.h"

#define STREAM "application/connect+json"
#define REFUSED                                                   \
	"this sandbox may not start programs: its policy has no " \
	"subprocess_execution"
#define NO_PROCESS "there is no such process"
/* {"event":{"keepalive":{}}} in its envelope. */
static const char keepalive[] = "\0\0\0\0\032{\"event\":{\"keepalive\":{}}}";
_Static_assert(sizeof(keepalive) - 1 == 5 + 26,
	       "must match the length in its envelope");

/* ---- starting ---- */

/* Whether the program is to run as another user than "user": the header has
   "Basic " and base64 of "user:". */
static bool
is_for_another(const struct exchange *x)
{
	static const char ours[] = "Basic dXNlcjo=";
	struct http_text given = exchange_header(x, "authorization");

	if (given.len < 6 || strncasecmp(given.text, ours, 6) != 0)
		return false;
	return given.len != strlen(ours) ||
	       memcmp(given.text + 6, ours + 6, given.len - 6) != 0;
}

static void
post_start(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_auto_t *message = sb ? e2b_read_envelope(&x->body.data) : NULL;
	json_t *process = json_object_get(message, "process");

	if (!sb)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	if (!sb->may_start_programs)
		connect_end(x, "permission_denied", REFUSED);
	else if (!e2b_is_program(process))
		connect_end(x, "invalid_argument",
			    "process: needs cmd and args");
	else if (is_for_another(x))
		connect_end(x, "invalid_argument",
			    "a sandbox here has one user, called user: "
			    "programs cannot run as another");
	else
		e2b_command_start(x, sb, message);
	sandbox_unref(sb);
}

static void
post_connect(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_auto_t *message = sb ? e2b_read_envelope(&x->body.data) : NULL;

	if (!sb)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	e2b_command_connect(x, sb, json_object_get(message, "process"));
	sandbox_unref(sb);
}

/* ---- running commands ---- */

static void
post_list(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);

	if (sb)
		reply_json(x, 200,
			   json_pack("{s:o}", "processes",
				     e2b_command_list(x, sb)));
	sandbox_unref(sb);
}

/* Returns the request's sandbox, and in *v the command. The id in *v is 0 after
   it has sent an error. */
static struct sandbox *
find_command(struct exchange *x, struct command_view *v)
{
	struct sandbox *sb = e2b_find(x);
	const json_t *selector = json_object_get(x->json, "process");

	if (!sb || e2b_command_find(x, sb, selector, v))
		return sb;
	connect_fail(x, "not_found", NO_PROCESS);
	return sb;
}

static void
reply_done(struct exchange *x, int failed, const struct remit_error *err)
{
	if (failed)
		connect_fail(x, connect_code(err), err->message);
	else
		reply_json(x, 200, json_object());
}

/* Any signal kills the command. */
static void
post_signal(struct exchange *x)
{
	struct command_view v = { 0 };
	struct remit_error err;
	struct sandbox *sb = find_command(x, &v);

	if (v.id)
		reply_done(
			x,
			hosted_command_signal(sb->hosted, v.id, SIGKILL, &err),
			&err);
	sandbox_unref(sb);
}

/* ---- input ---- */

/* Returns false without a reply if the command has too much unread input. */
static bool
send_input(struct exchange *x, struct sandbox *sb, const struct command_view *v,
	   bool is_last)
{
	const json_t *input = json_object_get(x->json, "input");
	const json_t *text =
		json_object_get(input, v->has_terminal ? "pty" : "stdin");
	own_mem char *bytes = NULL;
	struct remit_error err;
	size_t len = 0;
	int failed;

	if (!json_is_string(text) ||
	    base64_decode(json_string_value(text), json_string_length(text),
			  &bytes, &len) < 0) {
		connect_fail(x, "invalid_argument",
			     v->has_terminal ? "input.pty: must be base64"
					     : "input.stdin: must be base64");
		return true;
	}
	if (!v->reads) {
		connect_fail(x, "failed_precondition",
			     "this command reads no input: it was started "
			     "without stdin, or its stdin is closed");
		return true;
	}
	failed = len ? hosted_command_input(sb->hosted, v->id, bytes, len, &err)
		     : 0;
	if (failed && err.code == REMIT_E_BUSY && !is_last)
		return false;
	reply_done(x, failed, &err);
	return true;
}

static bool
attempt_input(struct exchange *x, bool is_last)
{
	struct command_view v = { 0 };
	struct sandbox *sb = find_command(x, &v);
	bool done = !v.id || send_input(x, sb, &v, is_last);

	sandbox_unref(sb);
	return done;
}

static void
post_input(struct exchange *x)
{
	exchange_repeat(x, attempt_input);
}

static void
post_close(struct exchange *x)
{
	struct command_view v = { 0 };
	struct remit_error err;
	struct sandbox *sb = find_command(x, &v);

	if (v.id)
		reply_done(x,
			   command_close_input(x, sb->hosted, v.id)
				   ? hosted_command_input(sb->hosted, v.id, "",
							  0, &err)
				   : 0,
			   &err);
	sandbox_unref(sb);
}

/* Not supported: the body would have to be processed while it arrives. */
static void
post_stream_input(struct exchange *x)
{
	reply_begin(x, 200, STREAM);
	connect_end(x, "unimplemented",
		    "send input in single requests (SendInput)");
}

/* Changes the size of a terminal. */
static void
post_update(struct exchange *x)
{
	struct command_view v = { 0 };
	struct remit_error err;
	unsigned columns, rows;
	struct sandbox *sb = find_command(x, &v);

	if (v.id && !v.has_terminal)
		connect_fail(x, "failed_precondition",
			     "this command has no terminal");
	else if (v.id && e2b_terminal_size(json_object_get(x->json, "pty"),
					   &columns, &rows) < 0)
		connect_fail(x, "invalid_argument",
			     "pty.size: cols and rows from 1 to 65535");
	else if (v.id)
		reply_done(x,
			   hosted_command_resize(sb->hosted, v.id, columns,
						 rows, &err),
			   &err);
	sandbox_unref(sb);
}

#define PROCESS(name, what, has)                                       \
	{                                                              \
		.method = "POST",                                      \
		.pattern = "/process.Process/" name,                   \
		.serve = (what),                                       \
		.body = (has),                                         \
		.is_open = true,                                       \
		.body_max = (has) == BODY_BYTES ? E2B_MESSAGE_MAX : 0, \
		.admits = e2b_admits,                                  \
		.fail = e2b_fail_text,                                 \
	}

const struct route e2b_process_routes[] = {
	PROCESS("Start", post_start, BODY_BYTES),
	PROCESS("Connect", post_connect, BODY_BYTES),
	PROCESS("List", post_list, BODY_JSON),
	PROCESS("SendSignal", post_signal, BODY_JSON),
	PROCESS("SendInput", post_input, BODY_JSON),
	PROCESS("StreamInput", post_stream_input, BODY_BYTES),
	PROCESS("CloseStdin", post_close, BODY_JSON),
	PROCESS("Update", post_update, BODY_JSON),
	{ 0 },
};
