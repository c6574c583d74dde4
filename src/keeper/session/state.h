/*
 * session_state: the states of a session, and which state may follow which.
 * docs/design/session.md prints this table;
 * tests/unit/keeper/test_session_state.c compares the two. And the events: what
 * has happened to a session and is not worked off yet.
 *
 * A handler, of the client's frames or of any other event, only notes here what
 * has come. The loop works it off when the handler has returned, before it
 * dispatches another event; the most urgent event first.
 */
#ifndef REMIT_SESSION_STATE_H
#define REMIT_SESSION_STATE_H

#include <stdbool.h>

#include "base/loop.h"
#include "wire/frame.h"

enum session_state {
	SESSION_READING, /* the client sends what is to be run */
	SESSION_WAITING, /* for its turn */
	SESSION_SEEKING, /* for a worker */
	/* Between two cells. */
	SESSION_IDLE,	/* its worker waits for the next cell */
	SESSION_FILING, /* the code reads or writes a file for the client */
	SESSION_SAVING, /* changes are written to the host */
	/* In a cell. */
	SESSION_CHECKING, /* the validator looks at the code */
	SESSION_RUNNING,
	SESSION_DYING, /* its jail was killed, and is not dead yet */
	/* The jail is dead. */
	SESSION_COMMITTING, /* changes are written to the host */
	SESSION_EXPORTING,  /* files are sent to the client */
	SESSION_DONE,	    /* it was answered, or its client has left */
	SESSION_STATES,
};

const char *session_state_name(enum session_state state);
/* True if a session in state `from` may enter state `to`. */
bool session_state_may(enum session_state from, enum session_state to);
/* No cell of the client's is in progress: what goes wrong now costs the jail,
   and is the answer to the next request. */
bool session_state_is_between_cells(enum session_state state);
/* Frames of the client are read now; in other states they stay in the link. */
bool session_state_reads(enum session_state state);

/* The most urgent first. */
enum session_event {
	SESSION_FAILED,	     /* see session_fail() */
	SESSION_LEFT,	     /* the client is gone */
	SESSION_INTERRUPTED, /* the client has asked for that */
	SESSION_REQUESTED, /* the client's frame `request` asks for something */
	SESSION_BUSY,	   /* the keeper has no room, not even to wait */
	SESSION_ADMITTED,  /* the keeper has room for it */
	SESSION_GOT_WORKER,   /* a worker waits for its job */
	SESSION_REPORTED,     /* the code has reported how the cell ended */
	SESSION_OVER_CEILING, /* the code has written more than it may */
	SESSION_CODE_ENDED,   /* the code's process has ended by itself */
	SESSION_JAIL_DEAD,    /* everything in the jail is dead */
	SESSION_CHANNEL_LOST, /* the code cannot be read from any more */
	SESSION_TIMER,	      /* its timer */
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
