#include "serve/command.h"

#include <string.h>

#include "base/text.h"
#include "serve/server.h"

struct command {
	struct command *next; /* in the server's list */
	struct server *server;
	struct hosted *hosted; /* a reference */
	struct command_view view;
	json_t *about;
	/* ---- under the server's commands_lock, with parts of `view` ---- */
	struct subscriber *subscribers;
};

/* A request that receives the events of a command; owned by the exchange. */
struct subscriber {
	struct subscriber *next;
	struct exchange *x;	 /* a reference while in the list */
	struct command *command; /* NULL: not in a list any more */
	const struct command_form *form;
	bool has_start; /* the start event was sent */
};

/* ---- subscribers ---- */

/* The client disconnected; the program continues. */
static void
subscriber_on_gone(void *user)
{
	struct subscriber *h = user, **at;
	struct server *s = h->x->server;
	bool found = false;

	pthread_mutex_lock(&s->commands_lock);
	if (h->command) {
		for (at = &h->command->subscribers; *at != h; at = &(*at)->next)
			;
		*at = h->next;
		h->command = NULL;
		found = true;
	}
	pthread_mutex_unlock(&s->commands_lock);
	if (found)
		exchange_unref(h->x);
}

/* Returns NULL if memory is exhausted. */
static struct subscriber *
subscriber_new(struct exchange *x, const struct command_form *form)
{
	struct subscriber *h = calloc(1, sizeof(*h));

	if (h) {
		h->x = x;
		h->form = form;
		exchange_own(x, h, free);
	}
	return h;
}

/* Called with the lock held. */
static bool
command_is_full(const struct command *c)
{
	size_t n = 0;

	for (const struct subscriber *o = c->subscribers; o; o = o->next)
		n++;
	return n >= COMMAND_SUBSCRIBERS_MAX;
}

/* Called with the lock held. */
static void
command_subscribe(struct command *c, struct subscriber *h)
{
	h->command = c;
	h->next = c->subscribers;
	c->subscribers = h;
	exchange_ref(h->x);
}

/* A request with a reference, and its form of events. */
struct receiver {
	struct exchange *x;
	const struct command_form *form;
};

/* Returns the current receivers; `only_new`: those without a start event. */
static size_t
command_receivers(struct command *c,
		  struct receiver out[COMMAND_SUBSCRIBERS_MAX], bool only_new)
{
	size_t n = 0;

	pthread_mutex_lock(&c->server->commands_lock);
	for (struct subscriber *h = c->subscribers; h; h = h->next) {
		if (only_new && h->has_start)
			continue;
		h->has_start = true;
		out[n++] = (struct receiver){ exchange_ref(h->x), h->form };
	}
	pthread_mutex_unlock(&c->server->commands_lock);
	return n;
}

/* ---- events ---- */

static void
command_on_started(void *user, uint32_t pid)
{
	struct receiver all[COMMAND_SUBSCRIBERS_MAX];
	struct command *c = user;
	size_t n;

	pthread_mutex_lock(&c->server->commands_lock);
	c->view.pid = pid;
	pthread_mutex_unlock(&c->server->commands_lock);
	n = command_receivers(c, all, true);
	for (size_t i = 0; i < n; i++) {
		all[i].form->start(all[i].x, c->view.id, pid);
		exchange_unref(all[i].x);
	}
}

static void
command_on_output(void *user, enum command_stream stream, const char *bytes,
		  size_t len)
{
	struct receiver all[COMMAND_SUBSCRIBERS_MAX];
	own_mem char *text = base64_encode(bytes, len);
	size_t n = text ? command_receivers(user, all, false) : 0;

	for (size_t i = 0; i < n; i++) {
		all[i].form->output(all[i].x, stream, text);
		exchange_unref(all[i].x);
	}
}

/* Removes the command from the list and returns its subscribers. */
static struct subscriber *
command_unlist(struct command *c)
{
	struct server *s = c->server;
	struct command **at;
	struct subscriber *all;

	pthread_mutex_lock(&s->commands_lock);
	for (at = &s->commands; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	all = take_ptr(&c->subscribers);
	for (struct subscriber *h = all; h; h = h->next)
		h->command = NULL;
	pthread_mutex_unlock(&s->commands_lock);
	return all;
}

static void
command_free(struct command *c)
{
	json_decref(c->about);
	hosted_unref(c->hosted);
	free(c);
}

/* Sends the end to all subscribers, unless it is NULL, and frees the
   command. */
static void
command_finish(struct command *c, const struct command_end *end)
{
	bool is_dropped = hosted_is_dropped(c->hosted);
	struct subscriber *h = command_unlist(c), *next;

	for (; h; h = next) {
		next = h->next;
		if (end)
			h->form->end(h->x, end, is_dropped);
		exchange_unref(h->x);
	}
	command_free(c);
}

static void
command_on_ended(void *user, const struct command_end *end)
{
	command_finish(user, end);
}

static const struct hosted_command_events events = {
	.started = command_on_started,
	.output = command_on_output,
	.ended = command_on_ended,
};

/* ---- starting ---- */

/* Takes ownership of `about`. Returns NULL if memory is exhausted. */
static struct command *
command_new(struct server *s, struct hosted *hosted,
	    const struct command_params *params, json_t *about)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c) {
		json_decref(about);
		return NULL;
	}
	*c = (struct command){
		.server = s,
		.hosted = hosted_ref(hosted),
		.view = { .has_terminal = params->columns > 0,
			  .reads = params->columns > 0 || params->reads,
			  .about = about },
		.about = about,
	};
	return c;
}

int
command_start(struct exchange *x, struct hosted *hosted,
	      const struct command_params *params,
	      const struct command_form *form, json_t *about,
	      struct remit_error *err)
{
	struct server *s = x->server;
	struct command *c = command_new(s, hosted, params, about);
	struct subscriber *h = c ? subscriber_new(x, form) : NULL;

	if (!h) {
		if (c)
			command_free(c);
		return fail_memory(err, "command");
	}
	pthread_mutex_lock(&s->commands_lock);
	c->next = s->commands;
	s->commands = c;
	command_subscribe(c, h);
	pthread_mutex_unlock(&s->commands_lock);
	if (hosted_command(hosted, params, &events, c, &c->view.id, err) < 0) {
		command_finish(c, NULL);
		return -1;
	}
	exchange_on_gone(x, subscriber_on_gone, h);
	return 0;
}

/* ---- running commands ---- */

/* One that has not started yet has no pid, and cannot be found. Called with the
   lock held. */
static struct command *
find_command(struct server *s, const struct hosted *hosted,
	     struct command_match match)
{
	struct command *c = s->commands;

	while (c && (c->hosted != hosted || !c->view.pid ||
		     !match.fits(&c->view, match.wanted)))
		c = c->next;
	return c;
}

/* Called with the lock held, so that the start comes before all output. */
static int
join_found(struct command *c, struct subscriber *h,
	   void (*begin)(struct exchange *x), struct remit_error *err)
{
	if (!c)
		return fail(err, REMIT_E_INPUT, "there is no such command");
	if (command_is_full(c))
		return fail(err, REMIT_E_BUSY,
			    "too many clients receive the output of this "
			    "command (limit %d)",
			    COMMAND_SUBSCRIBERS_MAX);
	if (begin)
		begin(h->x);
	h->has_start = true;
	h->form->start(h->x, c->view.id, c->view.pid);
	command_subscribe(c, h);
	return 0;
}

int
command_join(struct exchange *x, const struct hosted *hosted,
	     struct command_match match, const struct command_form *form,
	     void (*begin)(struct exchange *x), struct remit_error *err)
{
	struct server *s = x->server;
	struct subscriber *h = subscriber_new(x, form);
	int failed;

	if (!h)
		return fail_memory(err, "command");
	pthread_mutex_lock(&s->commands_lock);
	failed = join_found(find_command(s, hosted, match), h, begin, err);
	pthread_mutex_unlock(&s->commands_lock);
	if (!failed)
		exchange_on_gone(x, subscriber_on_gone, h);
	return failed;
}

bool
command_find(struct exchange *x, const struct hosted *hosted,
	     struct command_match match, struct command_view *out)
{
	struct server *s = x->server;
	const struct command *c;

	pthread_mutex_lock(&s->commands_lock);
	c = find_command(s, hosted, match);
	if (c) {
		*out = c->view;
		out->about = NULL;
	}
	pthread_mutex_unlock(&s->commands_lock);
	return c != NULL;
}

json_t *
command_list(struct exchange *x, const struct hosted *hosted,
	     json_t *(*row_of)(const struct command_view *v))
{
	struct server *s = x->server;
	json_t *list = json_array();

	pthread_mutex_lock(&s->commands_lock);
	for (struct command *c = s->commands; c; c = c->next)
		if (c->hosted == hosted && c->view.pid)
			json_array_append_new(list, row_of(&c->view));
	pthread_mutex_unlock(&s->commands_lock);
	return list;
}

bool
command_close_input(struct exchange *x, const struct hosted *hosted,
		    uint32_t id)
{
	struct server *s = x->server;
	struct command *c;
	bool was_open;

	pthread_mutex_lock(&s->commands_lock);
	for (c = s->commands; c && (c->hosted != hosted || c->view.id != id);
	     c = c->next)
		;
	was_open = c && c->view.reads;
	if (c)
		c->view.reads = false;
	pthread_mutex_unlock(&s->commands_lock);
	return was_open;
}
