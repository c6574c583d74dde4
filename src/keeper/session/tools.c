/*
 * session_tools: the requests of the code that its client answers: calls to the
 * caller's tools, and the proxy's questions about hosts that are not allowed
 * yet.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/net/address.h"
#include "base/number.h"
#include "keeper/session/part.h"
#include "proxy/params.h"
#include "wire/record.h"

/* ---- calls ---- */

static struct bridge_limits
current_limits(const struct session *s)
{
	const struct policy *p = &s->pool->policy;

	/* Threads that a cell left running may not call tools. */
	if (session_is_between_cells(s))
		return (struct bridge_limits){
			.no_request = true,
			.bytes = p->tool_bytes,
			.concurrency = p->tool_concurrency,
		};
	if (!plan_keeps(&s->pool->plan, MECH(BRIDGE)))
		return (struct bridge_limits){
			.calls = UINT64_MAX,
			.bytes = UINT64_MAX,
			.concurrency = UINT64_MAX,
		};
	return (struct bridge_limits){
		.calls = p->tool_calls,
		.bytes = p->tool_bytes,
		.concurrency = p->tool_concurrency,
	};
}

int
session_send_tools(struct session *s, struct remit_error *err)
{
	struct bridge_limits max = current_limits(s);

	return bridge_send_tools(&s->bridge, &max, &s->worker->jail.channel,
				 err);
}

int
session_recv_call(struct session *s, const struct frame *f,
		  struct remit_error *err)
{
	struct bridge_limits max = current_limits(s);
	bool begun;

	/* A process that has ended gets no reply. */
	if ((s->state != SESSION_RUNNING && !session_is_between_cells(s)) ||
	    s->cell.facts.has_wait_status)
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame \"call\"");
	/* Forward earlier output first, for a person who is asked. */
	if (f->type == FRAME_CALL && s->state == SESSION_RUNNING) {
		session_read_output(s, &s->out);
		session_read_output(s, &s->err);
	}
	if (bridge_call(&s->bridge, &max, f, &s->client,
			&s->worker->jail.channel, &begun, err) < 0)
		return -1;
	if (begun)
		session_pause_clock(s);
	if (begun && s->bridge.call.kept)
		return session_request_packages(s, err);
	if (begun || link_backlog(&s->client) > CLIENT_BACKLOG)
		session_flush_client(s);
	return 0;
}

int
session_recv_reply(struct session *s, const struct frame *f,
		   struct remit_error *err)
{
	struct bridge_limits max;
	bool ended;

	/* The run is over or has not started: no call waits for this reply. */
	if (s->state != SESSION_RUNNING || !s->worker)
		return 0;
	max = current_limits(s);
	if (bridge_reply(&s->bridge, &max, f, &s->worker->jail.channel, &ended,
			 err) < 0)
		return -1;
	if (!ended)
		return 0;
	session_resume_clock(s);
	session_flush_channel(s);
	return 0;
}

/* Drops the calls and questions that a cell left unanswered. */
void
session_reset_tools(struct session *s)
{
	session_drop_question(s);
	session_drop_packages(s);
	bridge_end(&s->bridge);
	s->bridge.calls = 0;
	s->clock.pauses = 0;
}

/* Shuts down the channel, so that code that waits for a reply reads end-of-file
   instead of waiting forever. */
void
session_end_tools(struct session *s)
{
	session_drop_packages(s);
	if (s->worker && (s->bridge.tools_sent || s->bridge.last_id))
		shutdown(s->worker->jail.channel.fd, SHUT_WR);
	while (s->bridge.pending_count && s->clock.pauses) {
		s->bridge.pending_count--;
		session_resume_clock(s);
	}
	bridge_end(&s->bridge);
}

/* ---- questions: one at a time, with the clock paused ---- */

static void
send_proxy_answer(struct session *s, uint32_t id, uint32_t allowed)
{
	struct proxy_prompt_answer a = { .id = id, .allowed = allowed };

	/* If the send fails the proxy is dead, which is detected elsewhere. */
	if (s->worker)
		send(s->worker->proxy.line, &a, sizeof(a),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The proxy's question is a claim: accept only a name or an address. Returns -1
   if it is neither. */
static int
write_subject(const struct proxy_prompt *q, char *out, size_t size)
{
	size_t len = strnlen(q->host, sizeof(q->host));
	char name[HOST_NAME_SIZE];
	struct address a;
	bool six;

	if (!q->port || len == sizeof(q->host) ||
	    (host_name_read(q->host, len, name) < 0 &&
	     address_read(q->host, &a) < 0))
		return -1;
	six = strchr(q->host, ':') != NULL;
	snprintf(out, size, six ? "[%s]:%u" : "%s:%u", q->host, q->port);
	return 0;
}

static int
send_question(struct session *s, const char *subject, struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_QUESTION].max);
	char id[16];

	snprintf(id, sizeof(id), "%u", s->question);
	if (record_add(&records, "id", id) < 0 ||
	    record_add(&records, "kind", "host") < 0 ||
	    record_add(&records, "subject", subject) < 0)
		return fail_memory(err, "question");
	return link_send(&s->client, FRAME_QUESTION, records.data, records.len,
			 err);
}

static void
recv_question(struct session *s, const struct proxy_prompt *q)
{
	char subject[HOST_NAME_SIZE + 10];
	struct remit_error err;

	if (!s->cell.can_answer || s->question || s->state != SESSION_RUNNING ||
	    s->client_gone || !q->id ||
	    write_subject(q, subject, sizeof(subject)) < 0) {
		send_proxy_answer(s, q->id, 0);
		return;
	}
	s->question = q->id;
	if (send_question(s, subject, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	session_pause_clock(s);
	session_set_timer(s);
	session_flush_client(s);
}

static void
on_proxy(void *owner, uint32_t events)
{
	struct session *s = owner;
	struct proxy_prompt q;
	ssize_t n;

	(void)events;
	/* A proxy that sends more questions than it may is not trusted any
	   more. */
	if (s->question_count++ == PENDING_PROMPTS_MAX) {
		loop_remove(&s->keeper->loop, &s->on_proxy);
		return;
	}
	n = recv(s->on_proxy.fd, &q, sizeof(q), MSG_DONTWAIT);
	if (n == sizeof(q))
		recv_question(s, &q);
	else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(&s->keeper->loop, &s->on_proxy);
}

int
session_watch_questions(struct session *s, struct remit_error *err)
{
	if (!s->pool->policy.network_ask || s->worker->proxy.line < 0)
		return 0;
	s->question_count = 0;
	return loop_add(&s->keeper->loop, &s->on_proxy, s->worker->proxy.line,
			EPOLLIN, on_proxy, s, err);
}

void
session_drop_question(struct session *s)
{
	if (!s->question)
		return;
	send_proxy_answer(s, s->question, 0);
	s->question = 0;
	session_resume_clock(s);
}

int
session_recv_answer(struct session *s, const struct frame *f,
		    struct remit_error *err)
{
	static const struct {
		const char *word;
		uint32_t allowed;
	} words[] = { { "deny", 0 }, { "once", 1 }, { "run", 2 } };
	struct record id, answer;
	uint64_t number;
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	if (!record_next(f->payload, f->len, &at, &id) ||
	    !record_next(f->payload, f->len, &at, &answer) || at != f->len ||
	    strcmp(id.key, "id") != 0 || strcmp(answer.key, "answer") != 0 ||
	    number_parse(&number, id.value) < 0)
		return fail(err, REMIT_E_PROTOCOL, "an answer without an id");
	/* The answer belongs to an earlier cell. */
	if (!s->question || number != s->question)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].word, answer.value)) {
			send_proxy_answer(s, s->question, words[i].allowed);
			s->question = 0;
			session_resume_clock(s);
			session_set_timer(s);
			return 0;
		}
	return fail(err, REMIT_E_PROTOCOL,
		    "an answer must be deny, once or run");
}
