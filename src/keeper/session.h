/*
 * session: one jail with one interpreter, from the door's first frame to the
 * result. A run is a session with one cell.
 *
 *	reading → waiting → locking → checking → running → dying → done
 *
 * From any state an error leads to dying (if there is a jail) or to done.
 */
#ifndef REMIT_SESSION_H
#define REMIT_SESSION_H

#include "capture.h"
#include "feed.h"
#include "jail.h"
#include "loop.h"
#include "verdict.h"

struct keeper;

enum session_state {
	SESSION_READING,
	SESSION_WAITING,
	SESSION_LOCKING,
	SESSION_CHECKING,
	SESSION_RUNNING,
	SESSION_DYING,
	SESSION_DONE,
};

struct session {
	struct session *next; /* of the keeper's list */
	struct keeper *keeper;
	enum session_state state;
	char id[24];

	struct link door;
	bool door_gone;
	bool started;	/* the door has sent everything */
	bool was_begun; /* it counts as running */

	struct policy policy;
	char *name;
	struct list argv;
	struct buf code;
	struct feed input;

	struct interpreter interpreter;
	struct plan plan;
	bool planned;
	struct jail jail;
	bool met; /* the kernel has confirmed who speaks for the jail */
	struct capture out, err;
	struct claim claim;
	struct facts facts;
	struct exit_report exit;
	struct remit_error error; /* why there is no verdict */
	bool failed;

	int timer;
	uint64_t deadline_us;  /* 0: none */
	uint64_t cpu_check_us; /* 0: none */
	uint64_t began_us;     /* the task was sent */
	uint64_t ended_us;     /* the code's end was seen */

	struct source on_door, on_channel, on_lifeline, on_in, on_out, on_err,
		on_init, on_timer;
};

/* Takes the door's descriptor. NULL without memory (the descriptor is closed).
   The session frees itself when it is done. */
struct session *session_new(struct keeper *k, int door_fd);
/* The keeper has room for it now. */
void session_begin(struct session *s);
/* The keeper has no room, not even to wait. */
void session_refuse_busy(struct session *s, size_t waiting);
void session_free(struct session *s);

#endif
