/*
 * hosted_commands: programs that run beside the cells of a hosted session. A
 * thread of their own receives what they send, so they never wait for the
 * worker of the session.
 */
#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "client/commands.h"
#include "hosted/hosted_part.h"
#include "wire/frame.h"

#define COMMANDS_STACK ((size_t)512 * 1024)

struct running {
	struct running *next;
	uint32_t id;
	const struct hosted_command_events *ev;
	void *user;
	uint64_t began_us;
	struct buf records; /* what was sent, for the audit */
};

struct hosted_commands {
	struct refcount refs; /* of the session, the thread and callers */
	struct hosted *hosted;
	struct commands_link *link;
	pthread_mutex_t lock; /* of the members below */
	struct running *first;
	uint32_t last_id;
	bool is_over;
};

static void
commands_free(struct hosted_commands *c)
{
	commands_link_free(c->link);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void
commands_unref(struct hosted_commands *c)
{
	if (c && refcount_dec_and_test(&c->refs))
		commands_free(c);
}

static void
running_free(struct running *g)
{
	buf_free(&g->records);
	free(g);
}

/* ---- events ---- */

/* Only the thread that calls this removes commands, so the result stays
   valid. */
static struct running *
find_running(struct hosted_commands *c, uint32_t id)
{
	struct running *g;

	pthread_mutex_lock(&c->lock);
	for (g = c->first; g && g->id != id; g = g->next)
		;
	pthread_mutex_unlock(&c->lock);
	return g;
}

static void
on_started(void *user, uint32_t id, uint32_t pid)
{
	struct running *g = find_running(user, id);

	if (g)
		g->ev->started(g->user, pid);
}

static void
on_output(void *user, uint32_t id, enum command_stream stream,
	  const char *bytes, size_t len)
{
	struct running *g = find_running(user, id);

	if (g)
		g->ev->output(g->user, stream, bytes, len);
}

/* Returns -1 if it could not be recorded. */
static int
audit_command(const struct hosted *r, const struct running *g,
	      const struct command_end *end, struct remit_error *err)
{
	const struct hosted_audit *a = &r->table->audit;
	json_auto_t *policy = json_loads(
		r->opt.policy_json ? r->opt.policy_json : "{}", 0, NULL);
	const char *tier = json_string_value(json_object_get(policy, "tier"));
	uint64_t wall_us = loop_now_us() - g->began_us;
	json_auto_t *document = NULL;
	char id[HOSTED_ID_SIZE];
	struct remit_job job = REMIT_JOB_INIT;
	struct hosted_record rec = { .owner = r->owner, .job = &job };

	if (!a->add)
		return 0;
	if (hosted_make_id(id, err) < 0)
		return -1;
	job.policy_json = r->opt.policy_json;
	job.code = buf_text(&g->records);
	job.code_len = g->records.len;
	rec.document = document =
		command_result(end, id, tier ? tier : "local", wall_us / 1000);
	return document ? a->add(a->user, &rec, err)
			: fail_memory(err, "audit");
}

static void
end_running(struct hosted_commands *c, struct running *g,
	    const struct command_end *end)
{
	struct command_end unwritten = { .id = g->id, .kind = COMMAND_REFUSED };
	struct remit_error err;

	if (audit_command(c->hosted, g, end, &err) < 0) {
		snprintf(unwritten.text, sizeof(unwritten.text), "%s",
			 err.message);
		end = &unwritten;
	}
	g->ev->ended(g->user, end);
	running_free(g);
}

static bool
unlist(struct hosted_commands *c, const struct running *g)
{
	struct running **at;

	pthread_mutex_lock(&c->lock);
	for (at = &c->first; *at && *at != g; at = &(*at)->next)
		;
	if (*at)
		*at = g->next;
	else
		g = NULL;
	pthread_mutex_unlock(&c->lock);
	return g != NULL;
}

static void
on_ended(void *user, const struct command_end *end)
{
	struct running *g = find_running(user, end->id);

	if (g && unlist(user, g))
		end_running(user, g, end);
}

static const struct commands_events link_events = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};

/* ---- the thread ---- */

static void
end_all(struct hosted_commands *c)
{
	struct command_end end = {
		.kind = COMMAND_GONE,
		.text = "the process that starts commands has ended",
	};
	struct running *g, *next;

	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	g = take_ptr(&c->first);
	pthread_mutex_unlock(&c->lock);
	for (; g; g = next) {
		next = g->next;
		end.id = g->id;
		end_running(c, g, &end);
	}
}

static void *
commands_main(void *arg)
{
	struct hosted_commands *c = arg;
	struct hosted *r = c->hosted;
	struct hosted_table *table = r->table;
	struct remit_error err;

	while (commands_next(c->link, &link_events, c, &err) == 0)
		;
	end_all(c);
	commands_unref(c);
	hosted_unref(r);
	hosted_table_end_worker(table);
	return NULL;
}

/* ---- for the worker of the session ---- */

static struct hosted_commands *
commands_new(struct hosted *r)
{
	struct hosted_commands *c = calloc(1, sizeof(*c));
	struct remit_error err;

	if (!c)
		return NULL;
	c->refs = (struct refcount)REFCOUNT_INIT(2);
	c->hosted = r;
	pthread_mutex_init(&c->lock, NULL);
	if (commands_open(r->session, &c->link, &err) == 0)
		return c;
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

void
hosted_commands_begin(struct hosted *r)
{
	struct hosted_commands *c = r->opt.commands ? commands_new(r) : NULL;
	struct remit_error err;

	if (!c)
		return;
	hosted_ref(r);
	if (hosted_table_begin_thread(r->table, commands_main, c,
				      COMMANDS_STACK, &err) < 0) {
		hosted_unref(r);
		commands_free(c);
		return;
	}
	pthread_mutex_lock(&r->table->lock);
	r->commands = c;
	pthread_mutex_unlock(&r->table->lock);
}

void
hosted_commands_end(struct hosted *r)
{
	struct hosted_commands *c;

	pthread_mutex_lock(&r->table->lock);
	c = take_ptr(&r->commands);
	pthread_mutex_unlock(&r->table->lock);
	if (!c)
		return;
	commands_shut_down(c->link);
	commands_unref(c);
}

/* ---- for clients ---- */

bool
hosted_has_commands(const struct hosted *r)
{
	return r->opt.commands;
}

static struct hosted_commands *
commands_of(struct hosted *r, struct remit_error *err)
{
	struct hosted_commands *c;

	pthread_mutex_lock(&r->table->lock);
	c = r->commands;
	if (c)
		refcount_inc(&c->refs);
	pthread_mutex_unlock(&r->table->lock);
	if (!c)
		fail(err, REMIT_E_GONE,
		     "this session has ended, or cannot run commands");
	return c;
}

static int
list_running(struct hosted_commands *c, struct running *g,
	     struct command_params *p, uint32_t *id, struct remit_error *err)
{
	int failed = 0;

	pthread_mutex_lock(&c->lock);
	if (c->is_over) {
		failed = fail(err, REMIT_E_GONE,
			      "the process that starts commands has ended");
	} else {
		*id = g->id = p->id = ++c->last_id;
		g->next = c->first;
		c->first = g;
	}
	pthread_mutex_unlock(&c->lock);
	return failed;
}

static int
start_command(struct hosted_commands *c, struct running *g,
	      struct command_params *p, uint32_t *id, struct remit_error *err)
{
	const struct hosted_audit *a = &c->hosted->table->audit;

	if ((a->check && a->check(a->user, err) < 0) ||
	    list_running(c, g, p, id, err) < 0)
		return -1;
	/* Unlisted already: the thread has reported its end. */
	if (commands_start(c->link, p, err) < 0 && unlist(c, g))
		return -1;
	return 0;
}

static struct running *
running_new(const struct hosted *r, const struct command_params *p,
	    const struct hosted_command_events *ev, void *user)
{
	struct running *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	*g = (struct running){
		.ev = ev,
		.user = user,
		.began_us = loop_now_us(),
		.records = BUF_INIT(frame_rules[FRAME_COMMAND].max),
	};
	if (!r->table->audit.add || command_params_write(&g->records, p) == 0)
		return g;
	running_free(g);
	return NULL;
}

int
hosted_command(struct hosted *r, const struct command_params *params,
	       const struct hosted_command_events *ev, void *user, uint32_t *id,
	       struct remit_error *err)
{
	struct hosted_commands *c = commands_of(r, err);
	struct command_params p = *params;
	struct running *g;
	int failed;

	if (!c)
		return -1;
	g = running_new(r, &p, ev, user);
	if (!g) {
		commands_unref(c);
		return fail(err, REMIT_E_INPUT,
			    "no memory, or the command with its arguments and "
			    "variables is too long");
	}
	failed = start_command(c, g, &p, id, err);
	if (failed)
		running_free(g);
	commands_unref(c);
	return failed;
}

int
hosted_command_input(struct hosted *r, uint32_t id, const void *bytes,
		     size_t len, struct remit_error *err)
{
	struct hosted_commands *c = commands_of(r, err);
	int failed = c ? commands_send_input(c->link, id, bytes, len, err) : -1;

	commands_unref(c);
	return failed;
}

int
hosted_command_signal(struct hosted *r, uint32_t id, int number,
		      struct remit_error *err)
{
	struct hosted_commands *c = commands_of(r, err);
	int failed = c ? commands_send_signal(c->link, id, number, err) : -1;

	commands_unref(c);
	return failed;
}

int
hosted_command_resize(struct hosted *r, uint32_t id, unsigned columns,
		      unsigned rows, struct remit_error *err)
{
	struct hosted_commands *c = commands_of(r, err);
	int failed = c ? commands_resize(c->link, id, columns, rows, err) : -1;

	commands_unref(c);
	return failed;
}
