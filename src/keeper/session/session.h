/*
 * session: one jail with one interpreter, from the client's first frame to the
 * result. A run is a session with one cell.
 *
 * A run goes, each time by session_enter(),
 *
 *	reading → waiting → seeking → checking → running → dying →
 *	committing → exporting → done
 *
 * A program that claims its end is answered at once, and its jail dies
 * afterwards; but files and changes leave only a dead jail, and the answer
 * comes after them.
 *
 * A client that opens a session has more than one cell. Its jail is sought at
 * once; then each cell goes the same way, and back:
 *
 *	seeking → idle → waiting → checking → running → idle
 *
 * A cell that ends its jail takes the whole way, and the session is idle
 * without a jail; so is one that was not used for too long. The last cell has
 * no code, and after it comes done.
 *
 * Whatever happens to a session is an event (keeper/session/state.h). Handlers
 * only note it, with session_post() or session_fail(); what is done about it is
 * in one table, by state and event (reactions.c), and runs from the loop.
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

struct install;
struct keeper;

/* What it is in its client's eyes. */
enum session_life {
	LIFE_RUN,     /* one program */
	LIFE_OPENING, /* a session whose client was not told yet that it is open
		       */
	LIFE_OPEN,
	LIFE_CLOSING, /* this is its last cell */
	LIFE_BROKEN,  /* the client broke the protocol: the next answer is the
			 last */
};

/* A file that is read or written between cells. */
struct filing {
	uint64_t missing_bytes;	    /* that the client has still to send */
	uint64_t answer_bytes_left; /* that the code may still answer */
};

struct session {
	struct session *next;	   /* of the keeper's list */
	struct session *want_next; /* of those that want a worker */
	struct keeper *keeper;
	enum session_state state; /* session_enter() changes it */
	enum session_life life;
	unsigned options; /* of enum session_option */
	struct session_queue queue;

	/* Its client. */
	struct link client;
	struct source on_client;
	bool client_gone;
	bool counts_as_running; /* it counts as running */
	bool stays;		/* the client was told that it can ask again */
	bool follows_another;	/* another used this client, and may be meant */
	uint64_t requested_us;	/* the client had sent everything */

	/* Its plan. */
	struct policy policy; /* of its own, until it has a pool */
	struct buf policy_text;
	struct pool *pool;
	struct install *install; /* it waits for packages, or NULL */
	bool install_ended;	 /* what it waited for has ended */
	struct package_layer
		package_layer;	/* its packages, until it has a pool */
	struct secrets secrets; /* from its client */

	/* Its worker. */
	struct worker *worker;
	struct capture out, err;
	struct bridge bridge;
	struct transfer display; /* the one whose bytes come just now */
	struct source on_proxy;
	uint32_t question;	 /* of the proxy, that waits; 0: none */
	uint32_t question_count; /* by it, so far */
	struct cell_clock clock;
	struct timer timer;
	struct committer committer;

	/* Its cells, of which a run has one. */
	struct cell cell;
	struct source on_in; /* the cell's standard input */
	char open_id[24];    /* "": a run */
	unsigned cells;	     /* that were begun */
	int stdin_pipe;	     /* of all cells: its reader, or -1 */
	struct filing filing;
	struct remit_error loss;       /* why it has no jail; OK: it has one */
	struct ledger *network_before; /* what earlier cells have done */
	char branch_of[24];	/* the session it was copied from, or "" */
	struct session *branch; /* that is being made of it, or NULL */
	struct session *origin; /* whose branch it is to be; then NULL */
};

/* Takes the client's descriptor. NULL without memory (the descriptor is
   closed). The session frees itself when it is done. */
struct session *session_new(struct keeper *k, int client_fd);
/* One for the client of this one, which was answered; NULL if that does not ask
   again. */
struct session *session_successor(struct session *s);
/* It has cells, and not just one program. */
bool session_has_cells(const struct session *s);
/* Its policy, wherever that is. */
const struct policy *session_policy(const struct session *s);
/* How long its code has waited for the host so far. */
uint64_t session_paused_us(const struct session *s);
void session_free(struct session *s);

/* Both only note what has happened, and may be called from anywhere. */

void session_post(struct session *s, enum session_event event);
/*
 * Something went wrong. In a cell this error is its result, and the jail is
 * killed; between cells the jail is lost, and the error is the answer to the
 * next request. While an answer is on its way it only says what went wrong.
 */
void session_fail(struct session *s, const struct remit_error *why);

/* From its worker. */

/* This one waits for a job: it is the session's now. */
void session_attach_worker(struct session *s, struct worker *i);
void session_on_channel(struct session *s, uint32_t events);
void session_on_stdout(struct session *s);
void session_on_stderr(struct session *s);

#endif
