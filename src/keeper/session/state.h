/*
 * session_state: the states of a session, and which state may follow which.
 * docs/design/session.md prints this table;
 * tests/unit/keeper/test_session_state.c compares the two. Also the events:
 * what has happened to a session and was not handled yet.
 *
 * A handler of a frame or of any other event only queues here what has
 * happened. The loop handles the queue when the handler has returned, before it
 * dispatches anything else; the most urgent event comes first.
 */
#ifndef REMIT_SESSION_STATE_H
#define REMIT_SESSION_STATE_H

#include <stdbool.h>

#include "base/loop.h"
#include "wire/frame.h"

enum session_state {
	SESSION_READING, /* the client sends the job */
	SESSION_WAITING, /* for its turn in the keeper's queue */
	SESSION_SEEKING, /* for a worker */
	/* Between two cells. */
	SESSION_IDLE,	/* its worker waits for the next cell */
	SESSION_FILING, /* the code reads or writes a file for the client */
	SESSION_SAVING, /* changes are written to the host */
	/* In a cell. */
	SESSION_CHECKING, /* the validator checks the code */
	SESSION_RUNNING,
	SESSION_DYING, /* its jail was killed, and is not dead yet */
	/* The jail is dead. */
	SESSION_COMMITTING, /* changes are written to the host */
	SESSION_EXPORTING,  /* files are sent to the client */
	SESSION_DONE,	    /* it was answered, or its client has left */
	SESSION_STATES,
};

const char *session_state_name(enum session_state state);
/* Returns true if a session in state `from` may enter state `to`. */
bool session_state_may(enum session_state from, enum session_state to);
/* Returns true while no cell is in progress. After an error in such a state the
   jail is killed, and the client gets the error as the answer to its next
   request. */
bool session_state_is_between_cells(enum session_state state);
/* Returns true while frames of the client are read. In other states they stay
   in the link. */
bool session_state_reads(enum session_state state);

/* In order of urgency. */
enum session_event {
	SESSION_FAILED,	     /* see session_fail() */
	SESSION_LEFT,	     /* the client is gone */
	SESSION_INTERRUPTED, /* the client requested an interrupt */
	SESSION_REQUESTED,   /* the client's frame `request` is a request */
	SESSION_BUSY,	     /* the keeper's queue is full */
	SESSION_ADMITTED,    /* the keeper has a free slot for it */
	SESSION_GOT_WORKER,  /* a worker waits for its job */
	SESSION_REPORTED,    /* the code has reported how the cell ended */
	/* the code has written more than its hard limit */
	SESSION_OVER_CEILING,
	SESSION_CODE_ENDED,   /* the code's process has exited */
	SESSION_JAIL_DEAD,    /* everything in the jail is dead */
	SESSION_CHANNEL_LOST, /* the code's channel was closed */
	SESSION_TIMER,	      /* its timer has rung */
	SESSION_COMMITTED,    /* the committer has reported, or is dead */
	SESSION_SENT,	      /* the client has read everything that was sent */
	SESSION_EVENTS,
};

struct session_queue {
	unsigned events; /* one bit for each event */
	/* Its payload stays valid, because the link is not read meanwhile. */
	struct frame request;
	struct remit_error trouble; /* the first error, for SESSION_FAILED */
	struct deferred work;
};

const char *session_event_name(enum session_event event);
void session_queue_add(struct session_queue *q, struct loop *l,
		       enum session_event event);
/* Keeps the first error. */
void session_queue_fail(struct session_queue *q, struct loop *l,
			const struct remit_error *why);
static inline bool
session_queue_has(const struct session_queue *q, enum session_event event)
{
	return q->events & 1u << event;
}
/* Removes and returns the most urgent event; SESSION_EVENTS if there is
   none. */
enum session_event session_queue_next(struct session_queue *q);

#endif
