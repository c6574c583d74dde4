/*
 * session_tools: calls from the code of a session to its caller's tools, and
 * the answers.
 */
#include <sys/socket.h>

#include "keeper/session/part.h"

static struct bridge_limits
limits(const struct session *s)
{
	const struct policy *p = &s->pool->policy;

	/* What a cell has left running may not call anybody. */
	if (session_rests(s))
		return (struct bridge_limits){
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
session_tell_tools(struct session *s, struct remit_error *err)
{
	struct bridge_limits max = limits(s);

	return bridge_tell(&s->bridge, &max, &s->worker->jail.channel, err);
}

int
session_take_call(struct session *s, const struct frame *f,
		  struct remit_error *err)
{
	struct bridge_limits max = limits(s);
	bool begun;

	/* What was called, and is dead, gets no answer. */
	if ((s->state != SESSION_RUNNING && !session_rests(s)) ||
	    s->cell.facts.has_wait_status)
		return fail(err, REMIT_E_PROTOCOL, "a call at a wrong time");
	/* What was printed before is seen before, by a person who is asked. */
	if (f->type == FRAME_CALL && s->state == SESSION_RUNNING) {
		session_read_output(s, &s->out);
		session_read_output(s, &s->err);
	}
	if (bridge_call(&s->bridge, &max, f, &s->client,
			&s->worker->jail.channel, &begun, err) < 0)
		return -1;
	if (begun)
		session_pause_clock(s);
	if (begun || link_backlog(&s->client) > CLIENT_BACKLOG)
		session_flush_client(s);
	return 0;
}

int
session_take_reply(struct session *s, const struct frame *f,
		   struct remit_error *err)
{
	struct bridge_limits max;
	bool ended;

	/* Of a run that is over, or has not begun: nobody waits for it. */
	if (s->state != SESSION_RUNNING || !s->worker)
		return 0;
	max = limits(s);
	if (bridge_reply(&s->bridge, &max, f, &s->worker->jail.channel, &ended,
			 err) < 0)
		return -1;
	if (!ended)
		return 0;
	session_resume_clock(s);
	session_flush_channel(s);
	return 0;
}

/* What a cell has called and left without an answer gets none. */
void
session_rest_tools(struct session *s)
{
	session_forget_question(s);
	bridge_end(&s->bridge);
	s->bridge.calls = 0;
	s->clock.pauses = 0;
}

/* Whoever waits for an answer, or calls later, is not to wait for ever: there
   is no more to read. */
void
session_end_tools(struct session *s)
{
	if (s->worker && s->bridge.told)
		shutdown(s->worker->jail.channel.fd, SHUT_WR);
	while (s->bridge.pending_count && s->clock.pauses) {
		s->bridge.pending_count--;
		session_resume_clock(s);
	}
	bridge_end(&s->bridge);
}
