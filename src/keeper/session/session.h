/*
 * session: one jail with one interpreter, from the client's first frame to the
 * result. A run is a session with one cell.
 *
 * A run passes through these states, each entered by session_enter():
 *
 *	reading → waiting → seeking → checking → running → dying →
 *	committing → exporting → done
 *
 * A program that claims its end is answered at once, and its jail dies
 * afterwards. But files and changes are taken only from a dead jail, and then
 * the answer comes after them.
 *
 * A session that a client opens has many cells. Its jail is built at once; then
 * each cell passes through these states, and the session is idle again:
 *
 *	seeking → idle → waiting → checking → running → idle
 *
 * A cell that ends its jail passes through all states of a run, and leaves the
 * session idle without a jail. A session that was idle for too long loses its
 * jail as well. The last cell has no code; after it the session is done.
 *
 * Everything that happens to a session is an event (keeper/session/state.h).
 * Handlers only queue it, with session_post() or session_fail(). The reactions
 * are in one table, by event and state (reactions.c), and run from the loop.
 */
#ifndef REMIT_SESSION_H
#define REMIT_SESSION_H

#include "keeper/output/stream.h"
#include "keeper/packages/package_layer.h"
#include "keeper/pool/worker.h"
#include "keeper/session/bridge.h"
#include "keeper/session/cell.h"
#include "keeper/session/committer.h"
#include "keeper/session/state.h"
#include "policy/policy.h"
#include "proxy/credential/vault.h"

struct commands;
struct install;
struct keeper;
struct ports;

/* The session as its client sees it. */
enum session_life {
	LIFE_RUN,     /* a run */
	LIFE_OPENING, /* "opened" was not sent to the client yet */
	LIFE_OPEN,
	LIFE_CLOSING, /* this is its last cell */
	LIFE_BROKEN,  /* the client broke the protocol; the next answer is the
			 last */
};

/* A request for a file, between cells. */
struct filing {
	uint64_t missing_bytes;	    /* that the client must still send */
	uint64_t answer_bytes_left; /* that the code may still send */
};

/* The packages that a session waits for: those of its policy, or those that its
   code asks for. */
struct package_wait {
	struct install *install; /* what it waits for, or NULL */
	bool install_ended;	 /* that installation has ended */
	/* Only of a request of the code: */
	bool is_open;	      /* it has no answer yet */
	struct policy policy; /* the session's, with these packages alone */
	struct list have;     /* what the code reports that it has */
	uint64_t wait_max_us; /* how long the clock may be paused for it */
};

/* What its code displays. */
struct showing {
	uint64_t mode;	  /* enum display_mode; pools do not depend on it */
	uint64_t missing; /* of the display whose bytes are being forwarded */
	bool dropped;	  /* its bytes are read and discarded */
};

/* A list of hosts that the client of an open session has set. */
struct network_list {
	struct policy policy; /* the session's, with the new list */
	char *enforcement;    /* JSON for results */
};

struct session_network {
	struct network_list *list; /* NULL: that of its plan */
	struct ledger *before;	   /* what earlier cells did */
};

/* What its client uses independently of its cells. */
struct beside_cells {
	struct commands *commands; /* NULL: it cannot have any */
	struct ports *ports;	   /* NULL: none can be reached */
};

struct session {
	struct session *next;	   /* in the keeper's list */
	struct session *want_next; /* in the pool's list of sessions that want a
				      worker */
	struct keeper *keeper;
	enum session_state state; /* changed only by session_enter() */
	enum session_life life;
	unsigned options; /* bits of enum session_option */
	struct session_queue queue;

	/* Its client. */
	struct link client;
	struct source on_client;
	bool client_gone;
	bool counts_as_running; /* counted in keeper->running */
	bool is_set_aside;	/* it waits, and is counted again afterwards */
	bool stays; /* "stays" was sent: the client may send another job */
	bool follows_another;  /* early frames may be meant for the previous job
				  of this connection */
	uint64_t requested_us; /* when the client had sent everything */

	/* Its plan. */
	struct policy policy; /* until it has a pool, which owns another */
	struct buf policy_text;
	struct pool *pool;
	struct package_wait packages;
	struct package_layer
		package_layer;	/* its packages, until it has a pool */
	struct secrets secrets; /* sent by its client */

	/* Its worker. */
	struct worker *worker;
	struct capture out, err;
	struct bridge bridge;
	struct showing display;
	struct source on_proxy;
	struct session_network network;
	uint32_t question;	 /* id of the proxy's open question; 0: none */
	uint32_t question_count; /* questions of the proxy so far */
	struct cell_clock clock;
	struct timer timer;
	struct committer committer;
	struct beside_cells beside;

	/* Its cells; a run has one. */
	struct cell cell;
	struct source on_in; /* writes the cell's standard input */
	char open_id[24];    /* "": a run */
	unsigned cells;	     /* number of cells begun */
	int stdin_pipe; /* keeps standard input open between cells, or -1 */
	struct filing filing;
	struct remit_error loss; /* why it has no jail; OK: it has one */
	char branch_of[24]; /* id of the session it was copied from, or "" */
	struct session *branch; /* the session being copied from it, or NULL */
	/* the session it is being copied from, or NULL */
	struct session *origin;
};

/* Takes ownership of the client's descriptor. Returns NULL if memory is short,
   and then closes the descriptor. The session frees itself when it is done. */
struct session *session_new(struct keeper *k, int client_fd);
/* Makes a session for the next job on the connection of `s`. Returns NULL if
   the client does not send another job. */
struct session *session_successor(struct session *s);
/* Returns true if it has many cells, and false for a run. */
bool session_has_cells(const struct session *s);
/* Returns its policy, which belongs to the session or to its pool. */
const struct policy *session_policy(const struct session *s);
/* Returns how long the code of its cell has waited for the host so far. */
uint64_t session_paused_us(const struct session *s);
void session_free(struct session *s);

/* session_post() and session_fail() only queue what has happened, and may be
   called from anywhere. */

void session_post(struct session *s, enum session_event event);
/*
 * Reports an error. In a cell the error becomes its result, and the jail is
 * killed. Between cells the jail is lost, and the error answers the next
 * request. While an answer is being prepared, the error only becomes its
 * reason.
 */
void session_fail(struct session *s, const struct remit_error *why);

/* Called by an installation that the code waits for. */

/* `why` is NULL if the packages are installed, or can be tried again. */
void session_got_packages(struct session *s, const struct remit_error *why);
void session_show_progress(struct session *s, const char *line);

/* Called by its worker. */

/* Gives the session this worker, which waits for a job. */
void session_attach_worker(struct session *s, struct worker *i);
void session_on_channel(struct session *s, uint32_t events);
void session_on_stdout(struct session *s);
void session_on_stderr(struct session *s);

#endif
