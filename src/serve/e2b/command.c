#include "serve/e2b/command.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "serve/e2b/connect.h"

struct command {
	struct command *next; /* in its sandbox's list */
	struct e2b *all;
	struct sandbox *sb;
	json_t *about; /* {"config", "tag"} */
	uint32_t id;   /* in the hosted session */
	bool has_terminal;
	/* ---- under the lock of all ---- */
	struct subscriber *subscribers;
	uint32_t pid; /* a claim of the jail; 0: not started yet */
	bool reads;   /* its input is open */
};

/* A request that receives the events of a command; owned by the exchange. */
struct subscriber {
	struct subscriber *next;
	struct exchange *x;	 /* a reference while in the list */
	struct command *command; /* NULL: not in a list any more */
	bool has_start;		 /* the start event was sent */
};

/* ---- subscribers ---- */

/* The client disconnected; the program continues. */
static void
subscriber_on_gone(void *user)
{
	struct subscriber *h = user, **at;
	struct e2b *e = h->x->server->e2b;
	bool found = false;

	pthread_mutex_lock(&e->lock);
	if (h->command) {
		for (at = &h->command->subscribers; *at != h; at = &(*at)->next)
			;
		*at = h->next;
		h->command = NULL;
		found = true;
	}
	pthread_mutex_unlock(&e->lock);
	if (found)
		exchange_unref(h->x);
}

/* Returns -1 if there are too many. Called with the lock held. */
static int
command_subscribe(struct command *c, struct subscriber *h)
{
	size_t n = 0;

	for (const struct subscriber *o = c->subscribers; o; o = o->next)
		n++;
	if (n >= COMMAND_SUBSCRIBERS_MAX)
		return -1;
	h->command = c;
	h->next = c->subscribers;
	c->subscribers = h;
	exchange_ref(h->x);
	return 0;
}

/* Returns references to the current subscribers; `only_new`: those without a
   start event. */
static size_t
command_subscribers(struct command *c,
		    struct exchange *out[COMMAND_SUBSCRIBERS_MAX],
		    bool only_new)
{
	size_t n = 0;

	pthread_mutex_lock(&c->all->lock);
	for (struct subscriber *h = c->subscribers; h; h = h->next) {
		if (only_new && h->has_start)
			continue;
		h->has_start = true;
		out[n++] = exchange_ref(h->x);
	}
	pthread_mutex_unlock(&c->all->lock);
	return n;
}

/* Sends a message to all subscribers and frees it. */
static void
command_send(struct command *c, json_t *message, bool only_new)
{
	struct exchange *all[COMMAND_SUBSCRIBERS_MAX];
	size_t n = command_subscribers(c, all, only_new);

	for (size_t i = 0; i < n; i++) {
		/* subscriber_on_gone() handles a disconnected client. */
		(void)!connect_send(all[i], json_incref(message));
		exchange_unref(all[i]);
	}
	json_decref(message);
}

static json_t *
start_json(uint32_t pid)
{
	return json_pack("{s:{s:{s:I}}}", "event", "start", "pid",
			 (json_int_t)pid);
}

/* ---- events ---- */

static void
command_on_started(void *user, uint32_t pid)
{
	struct command *c = user;

	pthread_mutex_lock(&c->all->lock);
	c->pid = pid;
	pthread_mutex_unlock(&c->all->lock);
	command_send(c, start_json(pid), true);
}

static void
command_on_output(void *user, enum command_stream stream, const char *bytes,
		  size_t len)
{
	static const char *const names[] = {
		[COMMAND_STDOUT] = "stdout",
		[COMMAND_STDERR] = "stderr",
		[COMMAND_TERMINAL] = "pty",
	};
	own_mem char *text = base64_encode(bytes, len);

	if (text)
		command_send(user,
			     json_pack("{s:{s:{s:s}}}", "event", "data",
				       names[stream], text),
			     false);
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
ending_of(const struct command *c, const struct command_end *e)
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
	if (e->kind == COMMAND_GONE && hosted_is_dropped(c->sb->hosted))
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
command_free(struct command *c)
{
	json_decref(c->about);
	sandbox_unref(c->sb);
	free(c);
}

/* Removes the command from its sandbox and returns its subscribers. */
static struct subscriber *
command_unlist(struct command *c)
{
	struct command **at;
	struct subscriber *all;

	pthread_mutex_lock(&c->all->lock);
	for (at = &c->sb->commands; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	all = take_ptr(&c->subscribers);
	for (struct subscriber *h = all; h; h = h->next)
		h->command = NULL;
	pthread_mutex_unlock(&c->all->lock);
	return all;
}

static void
send_ending(struct exchange *x, const struct ending *e)
{
	if (!e->event)
		connect_end(x, e->code, e->message);
	else if (connect_send(x, json_incref(e->event)) == 0)
		connect_end(x, NULL, NULL);
}

/* Sends the end to all subscribers, and frees the command. */
static void
command_finish(struct command *c, const struct ending *end)
{
	struct subscriber *h = command_unlist(c), *next;

	for (; h; h = next) {
		next = h->next;
		send_ending(h->x, end);
		exchange_unref(h->x);
	}
	json_decref(end->event);
	command_free(c);
}

static void
command_on_ended(void *user, const struct command_end *e)
{
	struct ending end = ending_of(user, e);

	command_finish(user, &end);
}

static const struct hosted_command_events events = {
	.started = command_on_started,
	.output = command_on_output,
	.ended = command_on_ended,
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

static struct command *
command_new(struct exchange *x, struct sandbox *sb, const json_t *message)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct command){
		.all = x->server->e2b,
		.sb = sandbox_ref(sb),
		.has_terminal = has_terminal(message),
		.reads = has_terminal(message) ||
			 json_is_true(json_object_get(message, "stdin")),
		.about = json_pack("{s:O, s:O*}", "config",
				   json_object_get(message, "process"), "tag",
				   json_object_get(message, "tag")),
	};
	return c;
}

/* Returns NULL if memory is exhausted. */
static struct subscriber *
subscriber_new(struct exchange *x)
{
	struct subscriber *h = calloc(1, sizeof(*h));

	if (h) {
		h->x = x;
		exchange_own(x, h, free);
	}
	return h;
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

static void
command_add(struct command *c, struct subscriber *h)
{
	pthread_mutex_lock(&c->all->lock);
	c->next = c->sb->commands;
	c->sb->commands = c;
	(void)!command_subscribe(c, h);
	pthread_mutex_unlock(&c->all->lock);
}

void
command_start(struct exchange *x, struct sandbox *sb, json_t *message)
{
	own(program) struct program p = { 0 };
	struct subscriber *h;
	struct remit_error err;
	struct command *c;

	if (program_read(&p, sb, message, timeout_of(x)) < 0) {
		connect_end(x, "invalid_argument",
			    "envs: must be an object of strings; pty.size: "
			    "cols and rows from 1 to 65535");
		return;
	}
	h = subscriber_new(x);
	c = h ? command_new(x, sb, message) : NULL;
	if (!c) {
		connect_end(x, "resource_exhausted", "no memory");
		return;
	}
	command_add(c, h);
	if (hosted_command(sb->hosted, &p.params, &events, c, &c->id, &err) <
	    0) {
		command_finish(c, &(struct ending){
					  .code = connect_code(&err),
					  .message = err.message,
				  });
		return;
	}
	exchange_on_gone(x, subscriber_on_gone, h);
}

/* ---- running commands ---- */

/* Whether a request means this command. One that has not started yet has no
   pid. */
static bool
command_is(const struct command *c, const json_t *selector)
{
	const json_t *pid = json_object_get(selector, "pid");
	const json_t *tag = json_object_get(selector, "tag");

	return c->pid && ((json_is_integer(pid) &&
			   json_integer_value(pid) == (json_int_t)c->pid) ||
			  (json_is_string(tag) &&
			   json_equal(tag, json_object_get(c->about, "tag"))));
}

/* Called with the lock held. */
static struct command *
find_command(const struct sandbox *sb, const json_t *selector)
{
	struct command *c;

	for (c = sb->commands; c && !command_is(c, selector); c = c->next)
		;
	return c;
}

void
command_connect(struct exchange *x, struct sandbox *sb, const json_t *selector)
{
	struct e2b *e = x->server->e2b;
	struct subscriber *h = subscriber_new(x);
	int joined = -1;
	struct command *c;
	uint32_t pid = 0;

	if (!h)
		return;
	/* The start event is added with the lock held, so it comes first. */
	pthread_mutex_lock(&e->lock);
	c = find_command(sb, selector);
	if (c) {
		pid = c->pid;
		h->has_start = true;
		joined = connect_send(x, start_json(pid)) < 0
				 ? -1
				 : command_subscribe(c, h);
	}
	pthread_mutex_unlock(&e->lock);
	if (joined == 0)
		exchange_on_gone(x, subscriber_on_gone, h);
	else if (c)
		connect_end(x, "resource_exhausted",
			    "too many clients are connected to this process");
	else
		connect_end(x, "not_found", "there is no such process");
}

json_t *
command_list(struct e2b *e, struct sandbox *sb)
{
	json_t *list = json_array();

	pthread_mutex_lock(&e->lock);
	for (struct command *c = sb->commands; c; c = c->next) {
		json_t *row = c->pid ? json_copy(c->about) : NULL;

		if (!row)
			continue;
		json_object_set_new(row, "pid",
				    json_integer((json_int_t)c->pid));
		json_array_append_new(list, row);
	}
	pthread_mutex_unlock(&e->lock);
	return list;
}

uint32_t
command_find(struct e2b *e, struct sandbox *sb, const json_t *selector)
{
	const struct command *c;
	uint32_t id;

	pthread_mutex_lock(&e->lock);
	c = find_command(sb, selector);
	id = c ? c->id : 0;
	pthread_mutex_unlock(&e->lock);
	return id;
}

bool
command_has_terminal(struct e2b *e, struct sandbox *sb, uint32_t id)
{
	const struct command *c;
	bool has;

	pthread_mutex_lock(&e->lock);
	for (c = sb->commands; c && c->id != id; c = c->next)
		;
	has = c && c->has_terminal;
	pthread_mutex_unlock(&e->lock);
	return has;
}

bool
command_reads(struct e2b *e, struct sandbox *sb, uint32_t id, bool closes)
{
	struct command *c;
	bool reads;

	pthread_mutex_lock(&e->lock);
	for (c = sb->commands; c && c->id != id; c = c->next)
		;
	reads = c && c->reads;
	if (c && closes)
		c->reads = false;
	pthread_mutex_unlock(&e->lock);
	return reads;
}
