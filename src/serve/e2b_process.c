/*
 * e2b_process: envd's service for commands. A command is a cell of the sandbox
 * that starts a program and waits for it: it has its turn with the others, the
 * limits of a cell, and the number of the cell for a pid.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "e2b_connect.h"
#include "e2b_part.h"
#include "number.h"
#include "result_view.h"
#include "text.h"

#define CONTEXT "commands"
#define STREAM	"application/connect+json"
#define REFUSED                                                  \
	"this sandbox may start no programs: its policy has no " \
	"subprocess_execution"
/* {"event":{"keepalive":{}}} in its envelope. */
static const char keepalive[] = "\0\0\0\0\032{\"event\":{\"keepalive\":{}}}";
_Static_assert(sizeof(keepalive) - 1 == 5 + 26, "as its envelope says");

struct command {
	struct command *next; /* of its sandbox */
	struct exchange *x;
	struct sandbox *sb;
	uint64_t cell; /* and pid */
	json_t *config;
	long long exit_code;
	bool has_ended; /* the program has, and said how */
};

/* ---- events ---- */

static void
on_begin(void *user, struct room *r)
{
	struct command *c = user;

	(void)r;
	if (connect_send(c->x, json_pack("{s:{s:{s:I}}}", "event", "start",
					 "pid", (json_int_t)c->cell)) < 0)
		return; /* who has gone is noticed elsewhere */
}

static void
on_output(void *user, enum remit_stream stream, const char *bytes, size_t len)
{
	struct command *c = user;
	own_mem char *text = text_base64(bytes, len);

	if (text &&
	    connect_send(c->x,
			 json_pack("{s:{s:{s:s}}}", "event", "data",
				   stream == REMIT_STDOUT ? "stdout" : "stderr",
				   text)) < 0)
		return;
}

/* The value of our own cell: the program's exit code. */
static void
on_display(void *user, const struct remit_display *d)
{
	struct command *c = user;

	for (size_t i = 0; d->is_value && i < d->part_count; i++) {
		const struct remit_part *p = &d->parts[i];
		char text[12];

		if (strcmp(p->mime, "text/plain") != 0 ||
		    p->len >= sizeof(text))
			continue;
		memcpy(text, p->bytes, p->len);
		text[p->len] = '\0';
		c->exit_code = strtoll(text, NULL, 10);
		c->has_ended = true;
	}
}

static void
send_end(struct command *c)
{
	bool killed = !c->has_ended || c->exit_code < 0;
	char status[48];
	json_t *end;

	if (killed)
		snprintf(status, sizeof(status), "signal: %lld",
			 c->has_ended ? -c->exit_code : 2);
	else
		snprintf(status, sizeof(status), "exit status %lld",
			 c->exit_code);
	end = json_pack("{s:I, s:b, s:s}", "exitCode",
			(json_int_t)(killed ? -1 : c->exit_code), "exited",
			!killed, "status", status);
	if (killed && end)
		json_object_set_new(end, "error", json_string(status));
	if (connect_send(c->x, json_pack("{s:{s:o}}", "event", "end", end)) ==
	    0)
		connect_end(c->x, NULL, NULL);
}

static void
tell_end(struct command *c, struct remit_result *res)
{
	const char *status = remit_result_status(res);
	const json_t *error =
		json_object_get(result_view_document(res), "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *value = json_string_value(json_object_get(error, "value"));

	if (!strcmp(status, "timeout") || !strcmp(status, "cpu_limit"))
		connect_end(c->x, "deadline_exceeded",
			    "the time of the command is over");
	else if (c->has_ended || (name && !strcmp(name, "KeyboardInterrupt")))
		send_end(c);
	else if (name && !strcmp(status, "error"))
		connect_end(c->x, "invalid_argument", value ? value : name);
	else
		connect_end(c->x, "unavailable", value ? value : status);
}

static void
unlist(struct command *c)
{
	struct e2b *all = c->x->server->e2b;
	struct command **at;

	pthread_mutex_lock(&all->lock);
	for (at = &c->sb->commands; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	pthread_mutex_unlock(&all->lock);
}

static void
on_result(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct command *c = user;

	unlist(c);
	if (res)
		tell_end(c, res);
	else if (err->code == REMIT_E_GONE)
		reply_abort(c->x);
	else
		connect_end(c->x, connect_code(err), err->message);
	exchange_put(c->x);
}

static const struct room_events events = {
	.begin = on_begin,
	.output = on_output,
	.display = on_display,
	.result = on_result,
};

/* ---- starting ---- */

/* A client's own limit, or none. */
static uint64_t
timeout_of(const struct exchange *x)
{
	struct http_text said = exchange_header(x, "connect-timeout-ms");
	char text[16];
	uint64_t ms;

	if (!said.len || said.len >= sizeof(text))
		return 0;
	memcpy(text, said.text, said.len);
	text[said.len] = '\0';
	return number_parse(&ms, text) == 0 ? ms : 0;
}

static void
command_free(void *command)
{
	struct command *c = command;

	sandbox_put(c->x, c->sb);
	json_decref(c->config);
	free(c);
}

static void
on_gone(void *user)
{
	struct command *c = user;

	room_cancel(c->sb->room, c->cell);
}

static void
start(struct exchange *x, struct sandbox *sb, json_t *process)
{
	const json_t *env = json_object_get(process, "envs");
	struct e2b_job *j =
		e2b_job_new(sb, CONTEXT, e2b_program_code(process), env);
	struct command *c = calloc(1, sizeof(*c));
	struct e2b *all = x->server->e2b;
	struct remit_error err;
	int failed;

	if (!j || !c) {
		connect_end(x, "invalid_argument",
			    "envs: must be an object of strings");
		e2b_job_free(j);
		free(c);
		return;
	}
	*c = (struct command){ .x = exchange_hold(x),
			       .sb = sandbox_hold(x, sb),
			       .config = json_incref(process) };
	exchange_own(x, c, command_free);
	j->room.job.timeout_ms = timeout_of(x);
	pthread_mutex_lock(&all->lock);
	c->next = sb->commands;
	sb->commands = c;
	pthread_mutex_unlock(&all->lock);
	failed = room_cell(sb->room, &j->room, &events, c, &c->cell, &err);
	if (failed) {
		e2b_job_free(j);
		on_result(c, NULL, &err);
		return;
	}
	exchange_on_gone(x, on_gone, c);
}

static void
post_start(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_auto_t *message = sb ? e2b_read_envelope(&x->body.data) : NULL;
	json_t *process = json_object_get(message, "process");
	const json_t *pty = json_object_get(message, "pty");

	if (!sb)
		return;
	reply_begin(x, 200, STREAM);
	reply_keepalive_bytes(x, keepalive, sizeof(keepalive) - 1);
	if (!sb->may_start_programs)
		connect_end(x, "permission_denied", REFUSED);
	else if (!e2b_is_program(process))
		connect_end(x, "invalid_argument",
			    "process: needs cmd and args");
	else if (pty && !json_is_null(pty))
		connect_end(x, "unimplemented", "there are no terminals here");
	else
		start(x, sb, process);
	sandbox_put(x, sb);
}

/* ---- those that run ---- */

/* The lock is held. */
static struct command *
find(struct sandbox *sb, const json_t *selector)
{
	const json_t *pid = json_object_get(selector, "pid");
	struct command *c;

	for (c = sb->commands; c; c = c->next)
		if (json_is_integer(pid) &&
		    (uint64_t)json_integer_value(pid) == c->cell)
			break;
	return c;
}

static void
post_list(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_t *list = json_array();

	pthread_mutex_lock(&x->server->e2b->lock);
	for (struct command *c = sb ? sb->commands : NULL; c; c = c->next)
		json_array_append_new(list, json_pack("{s:O, s:I}", "config",
						      c->config, "pid",
						      (json_int_t)c->cell));
	pthread_mutex_unlock(&x->server->e2b->lock);
	if (sb)
		reply_json(x, 200, json_pack("{s:o}", "processes", list));
	else
		json_decref(list);
	sandbox_put(x, sb);
}

/* Whatever the signal is: the cell is interrupted, and kills its program. */
static void
post_signal(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	struct command *c;
	uint64_t cell = 0;

	if (!sb)
		return;
	pthread_mutex_lock(&x->server->e2b->lock);
	c = find(sb, json_object_get(x->json, "process"));
	if (c)
		cell = c->cell;
	pthread_mutex_unlock(&x->server->e2b->lock);
	if (cell)
		room_cancel(sb->room, cell);
	sandbox_put(x, sb);
	if (cell)
		reply_json(x, 200, json_object());
	else
		connect_fail(x, "not_found", "there is no such process");
}

static void
post_input(struct exchange *x)
{
	connect_fail(x, "unimplemented",
		     "a command has no standard input here");
}

static void
post_connect(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);

	if (!sb)
		return;
	sandbox_put(x, sb);
	reply_begin(x, 200, STREAM);
	connect_end(x, "unimplemented",
		    "a command belongs to the connection that started it");
}

#define PROCESS(name, what, has)                                       \
	{                                                              \
		.method = "POST", .pattern = "/process.Process/" name, \
		.serve = (what), .body = (has), .is_open = true,       \
		.admits = e2b_admits,                                  \
	}

const struct route e2b_process_routes[] = {
	PROCESS("Start", post_start, BODY_BYTES),
	PROCESS("Connect", post_connect, BODY_BYTES),
	PROCESS("List", post_list, BODY_JSON),
	PROCESS("SendSignal", post_signal, BODY_JSON),
	PROCESS("SendInput", post_input, BODY_JSON),
	PROCESS("CloseStdin", post_input, BODY_JSON),
	PROCESS("Update", post_input, BODY_JSON),
	{ 0 },
};
