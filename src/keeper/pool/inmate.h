/*
 * inmate: a jail and the interpreter in it, from the first step of the build
 * to the last remains. It is made for one session (cold) or for a pool (warm);
 * a session takes it when it waits for a job.
 *
 *	building → joining → locking → warming → waiting → taken → spent → dying
 *	           (cold starts at locking and skips warming)
 *
 * A branch is built inside of its session's jail, and joined by a copy of that
 * one's code instead of a zygote's child (branch.h). When the code of a jail
 * that has branches ends, its pid 1 lives on until the last of them is gone.
 */
#ifndef REMIT_INMATE_H
#define REMIT_INMATE_H

#include "base/loop.h"
#include "jail/jail.h"
#include "keeper/pool/bucket.h"
#include "keeper/pool/cpu_share.h"
#include "proxy/proxy.h"

struct keeper;
struct pool;
struct session;

enum inmate_state {
	INMATE_BUILDING, /* pid 1 builds the jail */
	INMATE_JOINING,	 /* the zygote puts a child into it */
	INMATE_LOCKING,	 /* the interpreter locks itself down */
	INMATE_WARMING,	 /* it rehearses */
	INMATE_WAITING,	 /* for a job */
	INMATE_TAKEN,	 /* a session talks to it */
	INMATE_SPENT,	 /* it has no more to say, and is killed soon */
	INMATE_DYING,
};

/* How far the copying of a branch's code has come. */
enum fork_stage {
	FORK_ASKED = 1,
	FORK_REFUSED, /* see `unfit` */
	FORK_JOINING, /* there is a helper, or will be */
	FORK_FORKING,
	FORK_COPIED,
};

struct inmate {
	struct inmate *next;  /* of all that the keeper has */
	struct inmate *later; /* in a queue of its pool */
	struct keeper *keeper;
	struct pool *pool; /* whose plan it is built by */
	bool in_pool;	   /* it is the pool's, not a session's */
	struct session *session;
	enum inmate_state state;
	struct jail jail;
	struct cpu_share cpu_share;
	struct proxy proxy; /* of a plan that is proxied */
	pid_t joined; /* whom the zygote has put there; 0: it has not said */
	bool rehearsed;
	bool heard; /* it has spoken */
	bool met;   /* the kernel has confirmed who speaks for the jail */
	struct remit_error unmet;
	int in; /* the writer of its standard input */
	uint64_t made_us;
	struct source on_channel, on_lifeline, on_out, on_err, on_notice;
	struct timer patience;
	struct bucket answers; /* to what it is refused */
	struct timer again;    /* when there is another one; of a branch that
				  is to be met: when to look again */

	struct inmate *root;   /* the first of its family; itself */
	struct inmate *parent; /* of a branch */
	unsigned branches;     /* that are inside of it */
	bool has_branched;
	bool asked;		/* its code is to fork, and has not answered */
	struct inmate *forking; /* into this branch, if that still lives */
	bool run_ended;		/* its code is dead, but not its pid 1 */
	struct exit_report end; /* likewise */
	struct exit_report last_end; /* of its pid 1, when that is reaped */
	/* Of a branch. */
	enum fork_stage fork;
	struct remit_error unfit; /* why its parent's code is not copied */
	unsigned spaces;	  /* that the helper has joined */
	pid_t helper;
	int helper_fd;
	bool reported;	 /* it says that it is locked */
	pid_t outer_pid; /* as the parent's pid 1 sees its code */
	struct source on_helper;
};

/* In a jail for session `s`, cold; or for its pool, warm. The result is owned
   by the keeper, and speaks to its session or pool when something happens. */
struct inmate *inmate_new_cold(struct session *s, struct remit_error *err);
struct inmate *inmate_new_warm(struct pool *p, struct remit_error *err);

/* A branch of `parent`'s code, for session `s`. */
struct inmate *inmate_new_branch(struct session *s, struct inmate *parent,
				 struct remit_error *err);
/* It has one branch less. */
void inmate_lose_branch(struct inmate *i, const struct inmate *branch);

/* The zygote's word on it: it was forked as `pid`, or not (*err). */
void inmate_joined(struct inmate *i, pid_t pid);
void inmate_failed(struct inmate *i, const struct remit_error *err);

/* A branch, whose session has said that it was copied: it may be complete. */
void inmate_consider(struct inmate *i);
/* Tell when the helper of its fork is dead. */
int inmate_watch_helper(struct inmate *i, struct remit_error *err) must_check;

/* Kill it; what is left is taken away when it is dead. */
void inmate_kill(struct inmate *i);
/* It has no session any more: kill it, now or at the next quiet moment. */
void inmate_leave(struct inmate *i);

/* The keeper has reaped this child with this end. True if it was ours. */
bool inmate_reaped(struct inmate *i, pid_t pid, const struct exit_report *end);

/* Only when it is dead, or at the keeper's own end. */
void inmate_free(struct inmate *i);

#endif
