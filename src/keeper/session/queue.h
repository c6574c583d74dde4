/*
 * session_queue: what has happened to a session and is not worked off yet.
 *
 * A handler, of the client's frames or of any other event, only notes here what
 * has come. The loop works it off when the handler has returned, before it
 * dispatches another event; the most urgent event first.
 */
#ifndef REMIT_SESSION_QUEUE_H
#define REMIT_SESSION_QUEUE_H

#include "base/loop.h"
#include "wire/frame.h"

/* The most urgent first. */
enum session_event {
	SESSION_FAILED,	     /* see session_fail() */
	SESSION_LEFT,	     /* the client is gone */
	SESSION_INTERRUPTED, /* the client has asked for that */
	SESSION_REQUESTED, /* the client's frame `request` asks for something */
	SESSION_BUSY,	   /* the keeper has no room, not even to wait */
	SESSION_ADMITTED,  /* the keeper has room for it */
	SESSION_TAKEN,	   /* a worker waits for its job */
	SESSION_SAID,	   /* the code has reported how the cell ended */
	SESSION_OVER,	   /* the code has written more than it may */
	SESSION_CODE_ENDED,   /* the code's process has ended by itself */
	SESSION_JAIL_DEAD,    /* everything in the jail is dead */
	SESSION_CHANNEL_LOST, /* the code cannot be read from any more */
	SESSION_RANG,	      /* its timer */
	SESSION_COMMITTED,    /* the committer has reported, or is dead */
	SESSION_SENT,	      /* the client has read all that was sent */
	SESSION_EVENTS,
};

struct session_queue {
	unsigned events; /* a bit each */
	/* Its payload stays valid because the link is not read meanwhile. */
	struct frame request;
	struct remit_error trouble; /* the first one; for SESSION_FAILED */
	struct deferred work;
};

const char *session_event_name(enum session_event event);
void session_queue_add(struct session_queue *q, struct loop *l,
		       enum session_event event);
/* Keeps the first trouble. */
void session_queue_fail(struct session_queue *q, struct loop *l,
			const struct remit_error *why);
static inline bool
session_queue_has(const struct session_queue *q, enum session_event event)
{
	return q->events & 1u << event;
}
/* Removes the most urgent event; SESSION_EVENTS if there is none. */
enum session_event session_queue_next(struct session_queue *q);

#endif
