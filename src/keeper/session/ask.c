/*
 * session_ask: a host that nobody has allowed yet: the proxy's question to the
 * client, and the answer. One at a time; the clock stands meanwhile.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/net/address.h"
#include "base/number.h"
#include "keeper/session/part.h"
#include "proxy/params.h"
#include "proxy/pending.h"
#include "wire/record.h"

static void
tell_proxy(struct session *s, uint32_t id, uint32_t allowed)
{
	struct proxy_answer a = { .id = id, .allowed = allowed };

	/* One that does not listen is dead: its end is seen elsewhere. */
	if (s->worker)
		send(s->worker->proxy.line, &a, sizeof(a),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What the proxy says is a claim: a name or an address, or nothing. */
static int
write_subject(const struct proxy_question *q, char *out, size_t size)
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
		return fail_sys(err, REMIT_E_MEMORY, "question");
	return link_send(&s->client, FRAME_QUESTION, records.data, records.len,
			 err);
}

static void
take_question(struct session *s, const struct proxy_question *q)
{
	char subject[HOST_NAME_SIZE + 10];
	struct remit_error err;

	if (!s->cell.answers || s->question || s->state != SESSION_RUNNING ||
	    s->client_gone || !q->id ||
	    write_subject(q, subject, sizeof(subject)) < 0) {
		tell_proxy(s, q->id, 0);
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
	struct proxy_question q;
	ssize_t n;

	(void)events;
	/* One that asks more than it may is no proxy of ours any more. */
	if (s->asked++ == PENDING_QUESTIONS_MAX) {
		loop_remove(&s->keeper->loop, &s->on_proxy);
		return;
	}
	n = recv(s->on_proxy.fd, &q, sizeof(q), MSG_DONTWAIT);
	if (n == sizeof(q))
		take_question(s, &q);
	else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		loop_remove(&s->keeper->loop, &s->on_proxy);
}

int
session_hear_questions(struct session *s, struct remit_error *err)
{
	if (!s->pool->policy.network_ask || s->worker->proxy.line < 0)
		return 0;
	s->asked = 0;
	return loop_add(&s->keeper->loop, &s->on_proxy, s->worker->proxy.line,
			EPOLLIN, on_proxy, s, err);
}

void
session_forget_question(struct session *s)
{
	if (!s->question)
		return;
	tell_proxy(s, s->question, 0);
	s->question = 0;
	session_resume_clock(s);
}

int
session_take_answer(struct session *s, const struct frame *f,
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
		return fail(err, REMIT_E_PROTOCOL, "an answer without its id");
	/* Of a cell that is over: nobody waits for it. */
	if (!s->question || number != s->question)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].word, answer.value)) {
			tell_proxy(s, s->question, words[i].allowed);
			s->question = 0;
			session_resume_clock(s);
			session_set_timer(s);
			return 0;
		}
	return fail(err, REMIT_E_PROTOCOL, "an answer is deny, once or run");
}
