#include "keeper/session/beside/commands.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/deadline.h"
#include "base/digest.h"
#include "base/number.h"
#include "keeper/audit.h"
#include "keeper/session/part.h"
#include "keeper/session/task.h"
#include "wire/record.h"

#define HELPER_LOST "the process that starts commands has ended"
#define SIGNALS	    64

struct command {
	uint32_t id; /* 0: free */
	bool is_started;
	enum command_end_kind stopped; /* why it must end; 0: it may run on */
	uint64_t began_us;
	uint64_t deadline_us;			     /* 0: none */
	uint64_t output_bytes[COMMAND_TERMINAL + 1]; /* by stream */
	uint64_t input_bytes;
	uint64_t code_bytes; /* of its records, for the audit */
	char sha256[SHA256_TEXT];
};

struct commands {
	struct session *session;
	struct link client, helper;
	struct source on_client, on_helper;
	struct timer timer;
	struct command all[COMMANDS_MAX];
};

static struct command *
command_find(struct commands *c, uint32_t id)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (c->all[i].id == id)
			return &c->all[i];
	return NULL;
}

bool
commands_are_running(const struct commands *c)
{
	for (size_t i = 0; c && i < COMMANDS_MAX; i++)
		if (c->all[i].id)
			return true;
	return false;
}

/* ---- both ends ---- */

static void
commands_watch(struct commands *c)
{
	struct loop *l = &c->session->keeper->loop;
	struct {
		struct link *link, *other;
		struct source *source;
	} ends[] = {
		{ &c->client, &c->helper, &c->on_client },
		{ &c->helper, &c->client, &c->on_helper },
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		/* A peer that does not read stops the one that writes. */
		bool reads = link_backlog(ends[i].other) <= CLIENT_BACKLOG;
		uint32_t events = reads ? EPOLLIN : 0;

		if (link_wants_write(ends[i].link))
			events |= EPOLLOUT;
		loop_want(l, ends[i].source, events);
	}
}

static void
commands_flush(struct commands *c)
{
	struct remit_error err;

	/* A peer that is gone is noticed when its end is read. */
	if (link_flush(&c->client, &err) < 0)
		link_drop_backlog(&c->client);
	if (link_flush(&c->helper, &err) < 0)
		link_drop_backlog(&c->helper);
	commands_watch(c);
}

static void
commands_set_timer(struct commands *c)
{
	uint64_t at = 0;

	for (size_t i = 0; i < COMMANDS_MAX; i++)
		if (c->all[i].id && c->all[i].deadline_us &&
		    (!at || c->all[i].deadline_us < at))
			at = c->all[i].deadline_us;
	loop_set_timer(&c->session->keeper->loop, &c->timer, at);
}

/* ---- the end of a command ---- */

/* The same members as for a cell. */
static int
write_audit_line(const struct commands *c, const struct command *cmd,
		 const struct command_end *e, struct buf *out)
{
	const struct session *s = c->session;
	char policy[SHA256_TEXT], id[24];
	uint64_t wall_us = loop_now_us() - cmd->began_us;
	json_auto_t *document = NULL;
	struct audit_line_run run = {
		.uid = s->keeper->audit_writer.uid,
		.policy_sha256 = policy,
		.code_sha256 = cmd->sha256,
		.code_bytes = cmd->code_bytes,
	};

	cell_make_id(id);
	if (session_policy_sha256(s, policy) < 0)
		return -1;
	document = command_result(e, id, tiers[s->pool->plan.tier].name,
				  wall_us / 1000);
	run.result = document;
	return document ? audit_line_write(out, &run) : -1;
}

static void
audit_end(const struct commands *c, const struct command *cmd,
	  const struct command_end *e)
{
	own(buf) struct buf line = BUF_INIT(frame_rules[FRAME_RESULT].max);
	struct audit_writer *writer = &c->session->keeper->audit_writer;

	if (writer->fd < 0)
		return;
	if (write_audit_line(c, cmd, e, &line) == 0)
		audit_writer_add(writer, &line);
	else
		audit_writer_lose(writer);
}

/* Returns -1 if memory is exhausted. */
static int
send_end(struct commands *c, const struct command_end *e)
{
	char payload[sizeof(struct command_ended) + COMMAND_TEXT_MAX];
	size_t len = command_end_write(e, payload);
	struct remit_error err;

	return link_send(&c->client, FRAME_COMMAND_ENDED, payload, len, &err);
}

/* The session may be idle again. */
static void
note_idle(struct commands *c)
{
	struct session *s = c->session;

	if (!commands_are_running(c) && s->state == SESSION_IDLE && s->worker)
		session_start_idle_timer(s);
}

/* Why it was stopped is a fact, and precedes what the helper claims. */
static int
end_command(struct commands *c, struct command *cmd, struct command_end *e)
{
	if (cmd->stopped) {
		e->kind = cmd->stopped;
		e->value = 0;
		e->text[0] = '\0';
	}
	audit_end(c, cmd, e);
	*cmd = (struct command){ 0 };
	commands_set_timer(c);
	return send_end(c, e);
}

/* Kills the process group of a command. It must end in time. */
static void
stop_command(struct commands *c, struct command *cmd, enum command_end_kind why)
{
	const uint32_t payload[] = { cmd->id, SIGKILL };
	struct remit_error err;

	if (cmd->stopped)
		return;
	cmd->stopped = why;
	cmd->deadline_us = loop_now_us() + deadline_us(DEADLINE_COMMAND);
	commands_set_timer(c);
	if (link_send(&c->helper, FRAME_COMMAND_SIGNAL, payload,
		      sizeof(payload), &err) < 0)
		session_fail(c->session, &err);
	commands_flush(c);
}

bool
commands_exceed_cpu(struct commands *c)
{
	bool stopped = false;

	for (size_t i = 0; c && i < COMMANDS_MAX; i++) {
		if (!c->all[i].id || c->all[i].stopped)
			continue;
		stop_command(c, &c->all[i], COMMAND_CPU_LIMIT);
		stopped = true;
	}
	return stopped;
}

/* The jail is killed, as it is when a cell does not stop. */
static void
fail_unstoppable(struct commands *c)
{
	struct remit_error err;

	deadline_missed(&err, DEADLINE_COMMAND);
	session_fail(c->session, &err);
}

static void
on_timer(void *owner)
{
	struct commands *c = owner;
	uint64_t now = loop_now_us();

	for (size_t i = 0; i < COMMANDS_MAX; i++) {
		struct command *cmd = &c->all[i];

		if (!cmd->id || !cmd->deadline_us || cmd->deadline_us > now)
			continue;
		if (!cmd->stopped) {
			stop_command(c, cmd, COMMAND_TIMEOUT);
		} else if (link_backlog(&c->client) > CLIENT_BACKLOG) {
			/* The delay may be the client's, if it does not
			   read. */
			cmd->deadline_us = now + deadline_us(DEADLINE_COMMAND);
		} else {
			cmd->deadline_us = 0;
			fail_unstoppable(c);
		}
	}
	commands_set_timer(c);
}

static void
report_gone(struct commands *c, const char *why)
{
	for (size_t i = 0; i < COMMANDS_MAX; i++) {
		struct command_end e = { .id = c->all[i].id,
					 .kind = COMMAND_GONE };

		if (!e.id)
			continue;
		snprintf(e.text, sizeof(e.text), "%s", why);
		(void)!end_command(c, &c->all[i], &e);
	}
}

static void
commands_close(struct commands *c, const char *why)
{
	struct session *s = c->session;
	struct remit_error err;

	report_gone(c, why);
	(void)!link_flush(&c->client, &err);
	s->beside.commands = NULL;
	loop_set_timer(&s->keeper->loop, &c->timer, 0);
	loop_remove(&s->keeper->loop, &c->on_client);
	loop_remove(&s->keeper->loop, &c->on_helper);
	note_idle(c);
	link_free(&c->client);
	link_free(&c->helper);
	free(c);
}

void
commands_free(struct commands *c)
{
	if (c)
		commands_close(c, "its jail has ended");
}

/* ---- frames of the client ---- */

/* What the keeper needs of a command. */
struct command_request {
	uint64_t id, timeout_ms;
};

static int
read_request(struct command_request *q, const struct frame *f,
	     struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	*q = (struct command_request){ 0 };
	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		uint64_t *number = !strcmp(r.key, "id") ? &q->id
				   : !strcmp(r.key, "timeout_ms")
					   ? &q->timeout_ms
					   : NULL;

		if (number && number_parse(number, r.value) < 0)
			return fail(err, REMIT_E_PROTOCOL,
				    "a command with a malformed number");
	}
	if (!q->id || q->id > UINT32_MAX || q->timeout_ms > UINT64_MAX / 4000)
		return fail(err, REMIT_E_PROTOCOL,
			    "a command without a valid id");
	return 0;
}

/* Like the deadline of a cell. */
static uint64_t
deadline_of(const struct commands *c, const struct command_request *q)
{
	const struct pool *p = c->session->pool;
	uint64_t ms = plan_keeps(&p->plan, MECH(TIMER)) ? p->policy.timeout_ms
							: POLICY_UNLIMITED;

	if (q->timeout_ms && q->timeout_ms < ms)
		ms = q->timeout_ms;
	return ms == POLICY_UNLIMITED ? 0 : loop_now_us() + ms * 1000;
}

/* Why the command must not run; "" if it may. */
static void
check_command(struct commands *c, const struct frame *f, char *why, size_t size)
{
	const struct policy *p = session_policy(c->session);
	struct remit_error err;

	why[0] = '\0';
	if (f->len > p->code_bytes)
		snprintf(why, size,
			 "the command is longer than code_bytes allows (%llu "
			 "bytes)",
			 (unsigned long long)p->code_bytes);
	else if (audit_writer_check(&c->session->keeper->audit_writer, &err) <
		 0)
		snprintf(why, size, "%s", err.message);
}

/* The client has caused this work, so the jail gets processor time for it, and
   is not idle. */
static int
charge_session(struct session *s, struct remit_error *err)
{
	if (cpu_share_join(&s->keeper->cpu_shares, &s->worker->cpu_share,
			   &s->worker->jail.group, s->cell.tenant, err) < 0)
		return -1;
	s->cell.cpu_before_us = session_cpu_us(s);
	session_check_cpu(s);
	if (s->state == SESSION_IDLE)
		session_start_idle_timer(s);
	return 0;
}

static int
recv_command(struct commands *c, const struct frame *f, struct remit_error *err)
{
	struct command_end refused = { .kind = COMMAND_REFUSED };
	struct command *cmd;
	struct command_request q;

	if (read_request(&q, f, err) < 0)
		return -1;
	if (command_find(c, (uint32_t)q.id))
		return fail(err, REMIT_E_PROTOCOL, "a second command %llu",
			    (unsigned long long)q.id);
	cmd = command_find(c, 0);
	if (cmd)
		check_command(c, f, refused.text, sizeof(refused.text));
	else
		snprintf(refused.text, sizeof(refused.text),
			 "%d commands are running, the maximum", COMMANDS_MAX);
	if (!cmd || refused.text[0]) {
		refused.id = (uint32_t)q.id;
		return send_end(c, &refused);
	}
	*cmd = (struct command){
		.id = (uint32_t)q.id,
		.began_us = loop_now_us(),
		.deadline_us = deadline_of(c, &q),
		.code_bytes = f->len,
	};
	sha256_text(f->payload, f->len, cmd->sha256);
	commands_set_timer(c);
	return charge_session(c->session, err) < 0
		       ? -1
		       : link_send(&c->helper, f->type, f->payload, f->len,
				   err);
}

/* Returns the command of a frame that begins with its id; NULL if it has just
   ended. */
static struct command *
command_of(struct commands *c, const struct frame *f)
{
	uint32_t id = 0;

	if (f->len >= sizeof(id))
		memcpy(&id, f->payload, sizeof(id));
	return id ? command_find(c, id) : NULL;
}

static int
recv_input(struct commands *c, const struct frame *f, struct remit_error *err)
{
	struct command *cmd = command_of(c, f);

	if (!cmd || cmd->stopped)
		return 0;
	cmd->input_bytes += f->len - sizeof(uint32_t);
	if (cmd->input_bytes > session_policy(c->session)->stdin_bytes) {
		stop_command(c, cmd, COMMAND_INPUT_LIMIT);
		return 0;
	}
	return link_send(&c->helper, f->type, f->payload, f->len, err);
}

static int
recv_signal(struct commands *c, const struct frame *f, struct remit_error *err)
{
	uint32_t words[2] = { 0 };

	if (f->len != sizeof(words))
		return fail(err, REMIT_E_PROTOCOL, "a malformed frame \"%s\"",
			    frame_rules[f->type].name);
	memcpy(words, f->payload, sizeof(words));
	if (f->type == FRAME_COMMAND_SIGNAL &&
	    (!words[1] || words[1] > SIGNALS))
		return fail(err, REMIT_E_PROTOCOL, "an unknown signal");
	return command_of(c, f)
		       ? link_send(&c->helper, f->type, f->payload, f->len, err)
		       : 0;
}

static int
recv_client_frame(struct commands *c, const struct frame *f,
		  struct remit_error *err)
{
	switch (f->type) {
	case FRAME_COMMAND:
		return recv_command(c, f, err);
	case FRAME_COMMAND_INPUT:
		return recv_input(c, f, err);
	case FRAME_COMMAND_SIGNAL:
	case FRAME_COMMAND_SIZE:
		return recv_signal(c, f, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

/* ---- frames of the helper ---- */

static int
recv_started(struct commands *c, const struct frame *f, struct remit_error *err)
{
	struct command *cmd = command_of(c, f);

	if (!cmd || cmd->is_started || f->len != 2 * sizeof(uint32_t))
		return fail(err, REMIT_E_PROTOCOL, "an unexpected start");
	cmd->is_started = true;
	return link_send(&c->client, f->type, f->payload, f->len, err);
}

static uint64_t
cap_of(const struct commands *c, enum command_stream stream)
{
	const struct policy *p = session_policy(c->session);

	if (!plan_keeps(&c->session->pool->plan, MECH(CAPTURE)))
		return UINT64_MAX;
	/* Nobody could type into a terminal that has become silent: its output
	   ends only at the ceiling. */
	if (stream == COMMAND_TERMINAL)
		return number_mul(p->stdout_max_bytes, p->output_ceiling);
	return stream == COMMAND_STDERR ? p->stderr_max_bytes
					: p->stdout_max_bytes;
}

static uint64_t
ceiling_of(const struct commands *c, enum command_stream stream)
{
	return stream == COMMAND_TERMINAL
		       ? cap_of(c, stream)
		       : number_mul(cap_of(c, stream),
				    session_policy(c->session)->output_ceiling);
}

static int
recv_output(struct commands *c, const struct frame *f, struct remit_error *err)
{
	const uint32_t head = sizeof(uint32_t) + 1;
	struct command *cmd = command_of(c, f);
	unsigned stream =
		f->len > head ? (unsigned char)f->payload[head - 1] : 0;
	uint64_t before, max, left;
	uint32_t len = f->len - head;

	if (!cmd || !cmd->is_started || !stream || stream > COMMAND_TERMINAL)
		return fail(err, REMIT_E_PROTOCOL, "unexpected output");
	before = cmd->output_bytes[stream];
	cmd->output_bytes[stream] += len;
	max = cap_of(c, stream);
	if (cmd->output_bytes[stream] > ceiling_of(c, stream))
		stop_command(c, cmd, COMMAND_OUTPUT_LIMIT);
	left = before < max ? max - before : 0;
	if (left < len)
		len = (uint32_t)left;
	return len ? link_send(&c->client, f->type, f->payload, head + len, err)
		   : 0;
}

static int
recv_ended(struct commands *c, const struct frame *f, struct remit_error *err)
{
	struct command *cmd = command_of(c, f);
	struct command_end e;

	if (!cmd ||
	    command_end_read(&e, f->payload, f->len, COMMAND_FAILED) < 0)
		return fail(err, REMIT_E_PROTOCOL, "an unexpected end");
	if (end_command(c, cmd, &e) < 0)
		return fail_memory(err, "command");
	note_idle(c);
	return 0;
}

static int
recv_helper_frame(struct commands *c, const struct frame *f,
		  struct remit_error *err)
{
	switch (f->type) {
	case FRAME_COMMAND_STARTED:
		return recv_started(c, f, err);
	case FRAME_COMMAND_OUTPUT:
		return recv_output(c, f, err);
	case FRAME_COMMAND_ENDED:
		return recv_ended(c, f, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

/* ---- both links ---- */

/* Handles the frames of one end. Returns -1 if it is gone or broke the
   protocol. */
static int
read_link(struct commands *c, struct link *l,
	  int (*handle)(struct commands *c, const struct frame *f,
			struct remit_error *err),
	  struct remit_error *err)
{
	struct frame f;

	if (link_fill(l, err) < 0)
		return -1;
	do {
		if (link_next(l, &f, err) < 0 ||
		    (f.type != FRAME_NONE && handle(c, &f, err) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	return l->ended ? fail(err, REMIT_E_GONE, HELPER_LOST) : 0;
}

static void
on_client(void *owner, uint32_t events)
{
	struct commands *c = owner;
	struct remit_error err;

	if (events & ~(uint32_t)EPOLLOUT &&
	    read_link(c, &c->client, recv_client_frame, &err) < 0)
		commands_close(c, "its client has disconnected");
	else
		commands_flush(c);
}

/* Only the commands are lost: what a program in the jail does to the helper
   does not end the session. */
static void
on_helper(void *owner, uint32_t events)
{
	struct commands *c = owner;
	struct remit_error err;

	if (events & ~(uint32_t)EPOLLOUT &&
	    read_link(c, &c->helper, recv_helper_frame, &err) < 0)
		commands_close(c, HELPER_LOST);
	else
		commands_flush(c);
}

static struct commands *
commands_new(struct session *s, int client, int helper, struct remit_error *err)
{
	struct commands *c = calloc(1, sizeof(*c));

	if (!c) {
		close(client);
		close(helper);
		fail_memory(err, "commands");
		return NULL;
	}
	*c = (struct commands){
		.session = s,
		.timer = { .ring = on_timer, .owner = c },
		.on_client = SOURCE_INIT,
		.on_helper = SOURCE_INIT,
	};
	link_open(&c->client, client, PARTY_CLIENT);
	link_open(&c->helper, helper, PARTY_JAIL);
	s->beside.commands = c;
	if (loop_add(&s->keeper->loop, &c->on_client, client, EPOLLIN,
		     on_client, c, err) == 0 &&
	    loop_add(&s->keeper->loop, &c->on_helper, helper, EPOLLIN,
		     on_helper, c, err) == 0)
		return c;
	commands_close(c, "");
	return NULL;
}

/* Only a jail that may start programs, and whose code is not checked before it
   runs, has a helper. */
static bool
may_have_commands(const struct session *s)
{
	return s->worker && !s->beside.commands && !s->loss.code &&
	       s->pool->plan.policy->subprocess_execution &&
	       !s->pool->plan.forkable && !task_is_checked(&s->pool->plan);
}

int
session_open_commands(struct session *s, const struct frame *f,
		      struct remit_error *err)
{
	own_fd int client = take_fd(&s->client.passed_fd), theirs = -1;
	struct link *channel;
	int pair[2];

	(void)f;
	if (client < 0)
		return fail(err, REMIT_E_PROTOCOL,
			    "a request for commands without a connection");
	if (!may_have_commands(s))
		return 0;
	channel = &s->worker->jail.channel;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "socketpair");
	theirs = pair[1];
	if (!commands_new(s, take_fd(&client), pair[0], err) ||
	    link_send(channel, FRAME_COMMANDS, "", 0, err) < 0)
		return -1;
	return link_flush_with(channel, theirs, err);
}
