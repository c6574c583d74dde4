#include "keeper/session/queue.h"

static const char *const names[SESSION_EVENTS] = {
	[SESSION_FAILED] = "failed",
	[SESSION_LEFT] = "left",
	[SESSION_INTERRUPTED] = "interrupted",
	[SESSION_REQUESTED] = "requested",
	[SESSION_BUSY] = "busy",
	[SESSION_ADMITTED] = "admitted",
	[SESSION_TAKEN] = "taken",
	[SESSION_SAID] = "said",
	[SESSION_OVER] = "over",
	[SESSION_CODE_ENDED] = "code_ended",
	[SESSION_JAIL_DEAD] = "jail_dead",
	[SESSION_CHANNEL_LOST] = "channel_lost",
	[SESSION_RANG] = "rang",
	[SESSION_COMMITTED] = "committed",
	[SESSION_SENT] = "sent",
};

const char *
session_event_name(enum session_event event)
{
	return names[event];
}

void
session_queue_add(struct session_queue *q, struct loop *l,
		  enum session_event event)
{
	q->events |= 1u << event;
	loop_defer(l, &q->work);
}

void
session_queue_fail(struct session_queue *q, struct loop *l,
		   const struct remit_error *why)
{
	if (!session_queue_has(q, SESSION_FAILED))
		q->trouble = *why;
	session_queue_add(q, l, SESSION_FAILED);
}

enum session_event
session_queue_next(struct session_queue *q)
{
	for (unsigned event = 0; event < SESSION_EVENTS; event++)
		if (q->events & 1u << event) {
			q->events &= ~(1u << event);
			return (enum session_event)event;
		}
	return SESSION_EVENTS;
}
