/*
 * session_state: the states of a session, and which state may follow which.
 * ARCHITECTURE.md prints this table; tests/unit/keeper/test_session_state.c
 * compares the two.
 */
#ifndef REMIT_SESSION_STATE_H
#define REMIT_SESSION_STATE_H

#include <stdbool.h>

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
bool session_state_rests(enum session_state state);
/* Frames of the client are read now; in other states they stay in the link. */
bool session_state_reads(enum session_state state);

#endif
