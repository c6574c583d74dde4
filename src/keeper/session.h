/*
 * session: one jail with one interpreter, from the door's first frame to the
 * result. A run is a session with one cell.
 *
 *	reading → waiting → seeking → checking → running → dying → committing →
 *	exporting → done
 *
 * From any state an error leads to dying (if there is a jail) or to done. A
 * program that claims its end is answered at once, and its jail dies
 * afterwards; but files and changes leave only a dead jail, and the answer
 * comes after them.
 *
 * A door that opens a session has more than one cell. Its jail is sought at
 * once; then each cell goes the same way, and back:
 *
 *	seeking → idle → waiting → checking → running → idle
 *
 * A cell that ends its jail takes the whole way, and the session is idle
 * without a jail; so is one that nobody used for too long. The last cell has
 * no code, and after it comes done.
 */
#ifndef REMIT_SESSION_H
#define REMIT_SESSION_H

#include "bridge.h"
#include "capture.h"
#include "denial.h"
#include "feed.h"
#include "inmate.h"
#include "inputs.h"
#include "ledger.h"
#include "loop.h"
#include "policy.h"
#include "secrets.h"
#include "sha256.h"
#include "shelf.h"
#include "stamp.h"
#include "verdict.h"

struct harvest;
struct install;
struct keeper;

enum session_state {
	SESSION_READING,
	SESSION_WAITING, /* for its turn */
	SESSION_SEEKING, /* for an inmate */
	SESSION_IDLE,	 /* between cells */
	SESSION_CHECKING,
	SESSION_RUNNING,
	SESSION_DYING,
	SESSION_COMMITTING,
	SESSION_EXPORTING,
	SESSION_DONE,
};

/* Values and displays that went by. */
struct displays {
	uint64_t missing_bytes; /* of the one that comes */
	bool is_dropped;	/* that one is too large */
	bool has_value;
	uint64_t shown, shown_bytes;
	uint64_t left_out;
};

/* Something that is being done with a file, between cells. */
struct filing {
	bool asked;
	uint64_t missing_bytes; /* that the door has still to send */
	uint64_t room_bytes;	/* that the code may still answer */
};

struct session {
	struct session *next;	   /* of the keeper's list */
	struct session *want_next; /* of those that want an inmate */
	struct keeper *keeper;
	enum session_state state;
	char id[24];

	struct link door;
	bool door_gone;
	bool started;	      /* the door has sent everything */
	bool was_begun;	      /* it counts as running */
	bool was_warm;	      /* its interpreter came from a zygote */
	bool wants_artifacts; /* the door has a place for them */
	bool is_once;	      /* nobody comes with this policy again */
	bool may_stay;	      /* the door wants to ask again */
	bool stays;	      /* and was told that it can */
	bool comes_after;     /* another had its door, and may be meant */
	bool answers;	      /* the door has somebody to ask */
	uint32_t question;    /* of the proxy, that waits; 0: none */
	uint32_t asked;	      /* by it, so far */

	/* Of one with many cells. */
	char open_id[24];	/* "": a run */
	bool opened;		/* the door was told so */
	bool has_job;		/* the next cell has begun to arrive */
	bool interactive;	/* somebody types it */
	bool closing;		/* this is the last cell */
	bool forkable;		/* it may have branches */
	struct secrets secrets; /* that its door gave */
	bool overdue;		/* it was interrupted for a limit's sake */
	bool was_stirred;	/* the last cell may have left a SIGINT */
	unsigned cells;		/* that were begun */
	int stdin_pipe;		/* of all cells: its reader, or -1 */
	uint64_t timeout_ms; /* of its job, less than the policy's; 0: that */
	uint64_t cpu_before_us, own_cpu_before_us;
	char branch_of[24];	 /* the session it was copied from, or "" */
	struct session *branch;	 /* that is being made of it, or NULL */
	struct session *origin;	 /* whose branch it is to be; then NULL */
	struct remit_error loss; /* why there is no jail; OK: there is one */
	struct filing filing;
	char *tenant;  /* whom processor time and installers count for, or NULL
			*/
	char *context; /* the namespace of this cell, or NULL */
	bool fresh;    /* which is made anew */
	struct list env; /* of this cell alone */

	struct policy policy; /* of its own, until it has a pool */
	struct buf policy_text;
	struct pool *pool;
	struct install *install; /* it waits for packages, or NULL */
	bool was_installed;	 /* what it waited for has ended */
	struct shelf shelf;	 /* its packages, until it has a pool */
	char *name;
	struct list argv;
	struct buf code;
	uint64_t code_bytes;	       /* once it was sent */
	char code_sha256[SHA256_TEXT]; /* "": nobody wants to know it */
	bool was_audited;
	struct feed input;
	struct inputs files;
	struct bridge bridge;

	struct inmate *inmate;
	struct capture out, err;
	struct claim claim;
	struct displays displays;
	struct denials denials;
	bool is_watched; /* the kernel tells what is refused to it */
	struct facts facts;
	struct ledger *network;	       /* at the end; NULL: it had no proxy */
	struct ledger *network_before; /* what earlier cells have done */
	struct cgroup_usage used;      /* of its groups, at the end */
	struct exit_report exit;
	struct remit_error error; /* why there is no verdict */
	bool failed;
	int workspace;		 /* of the dead jail, if files leave it */
	struct harvest *harvest; /* NULL: nothing is exported */

	struct timespec asked_at; /* by the clock of inodes */
	struct stamp since;	  /* changes by others from then on are seen */
	int committer;		  /* who writes changes to the host, or -1 */
	int committed;		  /* what it says of it */
	struct buf changes;	  /* in its words */
	bool was_committed;	  /* it may write */
	bool commit_late;	  /* its deadline was missed */
	bool saving;		  /* it commits between two cells */
	struct buf known;	  /* what that has left, for the next time */

	struct timer timer;
	uint64_t asked_us;     /* the door had sent everything */
	uint64_t deadline_us;  /* 0: none; later by the time it is held */
	unsigned holds;	       /* the code waits for the host so many times */
	uint64_t held_at_us;   /* since when it does, if it does */
	uint64_t held_us;      /* how long it did, all together */
	uint64_t hold_left_us; /* that may still stop the clock */
	uint64_t output_us;    /* when to look at the output, from then on */
	uint64_t cpu_check_us; /* 0: none */
	uint64_t began_us;     /* the task was sent */
	uint64_t ended_us;     /* the code's end was seen */

	struct source on_door, on_in, on_committer, on_proxy;
};

/* Takes the door's descriptor. NULL without memory (the descriptor is closed).
   The session frees itself when it is done. */
struct session *session_new(struct keeper *k, int door_fd);
/* One for the door of this one, which was answered; NULL if that does not ask
   again. */
struct session *session_after(struct session *s);
/* It has cells, and not just one program. */
bool session_is_open(const struct session *s);
/* Its policy, wherever that is. */
const struct policy *session_policy(const struct session *s);
/* How long its code has waited for the host so far. */
uint64_t session_held_us(const struct session *s);
/* The keeper has room for it now. */
void session_begin(struct session *s);
/* The keeper has no room, not even to wait. */
void session_refuse_busy(struct session *s, size_t waiting);
void session_free(struct session *s);

/* From its inmate. */

/* This one waits for a job: it is the session's now. */
void session_take(struct session *s, struct inmate *i);
/* Something of ours went wrong: the error is the result. */
void session_give_up(struct session *s, const struct remit_error *err);
void session_on_channel(struct session *s, uint32_t events);
void session_on_out(struct session *s);
void session_on_err(struct session *s);
/* The code has ended by itself; everything in the jail is dead. */
void session_on_end(struct session *s, const struct exit_report *end);
void session_on_dead(struct session *s, const struct exit_report *end);

#endif
