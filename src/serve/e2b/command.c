#include "serve/e2b/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "client/result_view.h"
#include "serve/e2b/connect.h"

#define CONTEXT "commands"

struct command {
	struct command *next; /* in its sandbox's list */
	struct e2b *all;
	struct sandbox *sb;
	uint64_t cell; /* also the pid */
	json_t *about; /* {"config", "tag"} */
	long long exit_code;
	bool has_ended; /* the program's exit code is known */
	/* ---- under the lock of all ---- */
	struct subscriber *subscribers;
	int input;	   /* -1: it reads no input */
	bool is_signalled; /* possibly before it began */
};

/* A request that receives the events of a command; owned by the exchange. */
struct subscriber {
	struct subscriber *next;
	struct exchange *x;	 /* a reference while in the list */
	struct command *command; /* NULL: not in a list any more */
	bool has_start;		 /* the start event was sent */
};

/* ---- subscribers ---- */

/* Called with the lock held. */
static struct command *
find_cell(const struct sandbox *sb, uint64_t cell)
{
	struct command *c;

	for (c = sb->commands; c && c->cell != cell; c = c->next)
		;
	return c;
}

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
start_json(uint64_t cell)
{
	return json_pack("{s:{s:{s:I}}}", "event", "start", "pid",
			 (json_int_t)cell);
}

/* ---- events ---- */

static void
command_on_begin(void *user, struct hosted *r)
{
	struct command *c = user;

	(void)r;
	command_send(c, start_json(c->cell), true);
}

static void
command_on_output(void *user, enum remit_stream stream, const char *bytes,
		  size_t len)
{
	own_mem char *text = base64_encode(bytes, len);

	if (text)
		command_send(
			user,
			json_pack("{s:{s:{s:s}}}", "event", "data",
				  stream == REMIT_STDOUT ? "stdout" : "stderr",
				  text),
			false);
}

/* The value of the cell is the program's exit code. */
static void
command_on_display(void *user, const struct remit_display *d)
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

/* How a command ended: an event or an error. */
struct ending {
	json_t *event; /* or NULL */
	const char *code, *message;
	bool is_killed; /* together with its sandbox: the stream breaks off */
};

static json_t *
end_json(const struct command *c)
{
	bool killed = !c->has_ended || c->exit_code < 0;
	char status[48];
	json_t *end;

	if (killed)
		snprintf(status, sizeof(status), "signal: %lld",
			 c->has_ended ? -c->exit_code : 9);
	else
		snprintf(status, sizeof(status), "exit status %lld",
			 c->exit_code);
	end = json_pack("{s:I, s:b, s:s}", "exitCode",
			(json_int_t)(killed ? -1 : c->exit_code), "exited",
			!killed, "status", status);
	if (killed && end)
		json_object_set_new(end, "error", json_string(status));
	return json_pack("{s:{s:o}}", "event", "end", end);
}

static struct ending
ending_of(const struct command *c, struct remit_result *res)
{
	const char *status = remit_result_status(res);
	const json_t *error =
		json_object_get(result_view_document(res), "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	const char *value = json_string_value(json_object_get(error, "value"));

	if (!strcmp(status, "timeout") || !strcmp(status, "cpu_limit"))
		return (struct ending){
			.code = "deadline_exceeded",
			.message = "the timeout of the command is over"
		};
	if (c->has_ended || (name && !strcmp(name, "KeyboardInterrupt")))
		return (struct ending){ .event = end_json(c) };
	return (struct ending){ .code = name && !strcmp(status, "error")
						? "invalid_argument"
						: "unavailable",
				.message = value  ? value
					   : name ? name
						  : status };
}

static void
command_free(struct command *c)
{
	own_fd_close(&c->input);
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
	if (e->is_killed)
		reply_abort(x);
	else if (!e->event)
		connect_end(x, e->code, e->message);
	else if (connect_send(x, json_incref(e->event)) == 0)
		connect_end(x, NULL, NULL);
}

static bool
was_signalled(struct command *c)
{
	bool was;

	pthread_mutex_lock(&c->all->lock);
	was = c->is_signalled;
	pthread_mutex_unlock(&c->all->lock);
	return was;
}

static void
command_on_result(void *user, struct remit_result *res,
		  const struct remit_error *err)
{
	struct command *c = user;
	bool before = !res && was_signalled(c);
	struct subscriber *h, *next;
	struct ending end;

	/* The client that started it expects a start event even if it was
	   killed before it began. */
	if (before)
		command_send(c, start_json(c->cell), true);
	h = command_unlist(c);
	if (before)
		end = (struct ending){ .event = end_json(c) };
	else if (res)
		end = ending_of(c, res);
	else
		end = (struct ending){ .code = connect_code(err),
				       .message = err->message,
				       .is_killed = err->code == REMIT_E_GONE };
	for (; h; h = next) {
		next = h->next;
		send_ending(h->x, &end);
		exchange_unref(h->x);
	}
	json_decref(end.event);
	command_free(c);
}

static const struct hosted_events events = {
	.begin = command_on_begin,
	.output = command_on_output,
	.display = command_on_display,
	.result = command_on_result,
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

/* Opens a pipe from the command's input to the job's standard input. */
static int
open_input(struct command *c, struct e2b_job *j)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	j->input = j->hosted.job.stdin_fd = pair[0];
	c->input = pair[1];
	return 0;
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
		.input = -1,
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

void
command_start(struct exchange *x, struct sandbox *sb, json_t *message)
{
	const json_t *process = json_object_get(message, "process");
	bool reads = json_is_true(json_object_get(message, "stdin"));
	struct e2b_job *j =
		e2b_job_new(sb, CONTEXT,
			    e2b_program_code(process, reads, &sb->names),
			    json_object_get(process, "envs"));
	struct subscriber *h = subscriber_new(x);
	struct command *c = h ? command_new(x, sb, message) : NULL;
	bool is_made = j && c && (!reads || open_input(c, j) == 0);
	struct remit_error err;

	if (!is_made) {
		if (j)
			connect_end(
				x, "resource_exhausted",
				"no memory, or no descriptor for its input");
		else
			connect_end(x, "invalid_argument",
				    "envs: must be an object of strings");
		e2b_job_free(j);
		if (c)
			command_free(c);
		return;
	}
	j->hosted.job.timeout_ms = timeout_of(x);
	pthread_mutex_lock(&c->all->lock);
	c->next = sb->commands;
	sb->commands = c;
	(void)!command_subscribe(c, h);
	pthread_mutex_unlock(&c->all->lock);
	if (hosted_cell(sb->hosted, &j->hosted, &events, c, &c->cell, &err) <
	    0) {
		e2b_job_free(j);
		command_on_result(c, NULL, &err);
		return;
	}
	exchange_on_gone(x, subscriber_on_gone, h);
}

void
command_connect(struct exchange *x, struct sandbox *sb, const json_t *selector)
{
	struct e2b *e = x->server->e2b;
	uint64_t cell = command_find(e, sb, selector);
	struct subscriber *h = cell ? subscriber_new(x) : NULL;
	struct command *c;
	int joined = -1;

	if (!cell) {
		connect_end(x, "not_found", "there is no such process");
		return;
	}
	/* Sent first, before any other event can be. */
	if (!h || connect_send(x, start_json(cell)) < 0)
		return;
	h->has_start = true;
	pthread_mutex_lock(&e->lock);
	c = find_cell(sb, cell);
	if (c)
		joined = command_subscribe(c, h);
	pthread_mutex_unlock(&e->lock);
	if (joined == 0)
		exchange_on_gone(x, subscriber_on_gone, h);
	else if (c)
		connect_end(x, "resource_exhausted",
			    "too many clients are connected to this process");
	else
		connect_end(x, "not_found", "the process has just ended");
}

/* ---- running commands ---- */

json_t *
command_list(struct e2b *e, struct sandbox *sb)
{
	json_t *list = json_array();

	pthread_mutex_lock(&e->lock);
	for (struct command *c = sb->commands; c; c = c->next) {
		json_t *row = json_copy(c->about);

		json_object_set_new(row, "pid",
				    json_integer((json_int_t)c->cell));
		json_array_append_new(list, row);
	}
	pthread_mutex_unlock(&e->lock);
	return list;
}

uint64_t
command_find(struct e2b *e, struct sandbox *sb, const json_t *selector)
{
	const json_t *pid = json_object_get(selector, "pid");
	const json_t *tag = json_object_get(selector, "tag");
	uint64_t cell = 0;

	pthread_mutex_lock(&e->lock);
	for (struct command *c = sb->commands; c && !cell; c = c->next)
		if ((json_is_integer(pid) &&
		     (uint64_t)json_integer_value(pid) == c->cell) ||
		    (json_is_string(tag) &&
		     json_equal(tag, json_object_get(c->about, "tag"))))
			cell = c->cell;
	pthread_mutex_unlock(&e->lock);
	return cell;
}

void
command_signal(struct e2b *e, struct sandbox *sb, uint64_t cell)
{
	struct command *c;

	pthread_mutex_lock(&e->lock);
	c = find_cell(sb, cell);
	if (c)
		c->is_signalled = true;
	pthread_mutex_unlock(&e->lock);
	hosted_cancel(sb->hosted, cell);
}

int
command_input(struct e2b *e, struct sandbox *sb, uint64_t cell)
{
	const struct command *c;
	int fd = -1;

	pthread_mutex_lock(&e->lock);
	c = find_cell(sb, cell);
	if (c && c->input >= 0)
		fd = fcntl(c->input, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&e->lock);
	return fd;
}

void
command_close_input(struct e2b *e, struct sandbox *sb, uint64_t cell)
{
	struct command *c;

	pthread_mutex_lock(&e->lock);
	c = find_cell(sb, cell);
	if (c) {
		own_fd_close(&c->input);
		c->input = -1;
	}
	pthread_mutex_unlock(&e->lock);
}
