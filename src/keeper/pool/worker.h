/*
 * worker: a jail and the interpreter in it, from the first step of the build
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
#ifndef REMIT_WORKER_H
#define REMIT_WORKER_H

#include "base/loop.h"
#include "jail/jail.h"
#include "keeper/pool/cpu_share.h"
#include "keeper/pool/watch.h"
#include "proxy/proxy.h"

struct keeper;
struct pool;
struct session;

enum worker_state {
	WORKER_BUILDING, /* pid 1 builds the jail */
	WORKER_JOINING,	 /* the zygote puts a child into it */
	WORKER_LOCKING,	 /* the interpreter locks itself down */
	WORKER_WARMING,	 /* it warms up */
	WORKER_WAITING,	 /* for a job */
	WORKER_IN_USE,	 /* a session talks to it */
	WORKER_SPENT,	 /* it has no more to say, and is killed soon */
	WORKER_DYING,
};

/* How far the copying of a branch's code has come. */
enum fork_stage {
	FORK_REQUESTED = 1,
	FORK_REFUSED, /* see `unfit` */
	FORK_JOINING, /* there is a helper, or will be */
	FORK_FORKING,
	FORK_COPIED,
};

struct worker {
	struct worker *next;  /* of all that the keeper has */
	struct worker *later; /* in a queue of its pool */
	struct keeper *keeper;
	struct pool *pool; /* whose plan it is built by */
	bool in_pool;	   /* it is the pool's, not a session's */
	struct session *session;
	enum worker_state state;
	struct jail jail;
	struct cpu_share cpu_share;
	struct proxy proxy; /* of a plan that is proxied */
	pid_t joined_pid;   /* whom the zygote has put there; 0: it has not said
			     */
	bool warmed_up;
	bool has_reported; /* it has spoken */
	bool is_verified; /* the kernel has confirmed who speaks for the jail */
	struct remit_error verify_error;
	int in; /* the writer of its standard input */
	uint64_t made_us;
	struct source on_channel, on_lifeline, on_out, on_err, on_notice;
	struct timer deadline_timer;
	struct bucket refusal_bucket; /* to what it is refused */
	struct timer retry_timer; /* when there is another one; of a branch that
			       is to be met: when to look again */

	struct worker *root;   /* the first of its family; itself */
	struct worker *parent; /* of a branch */
	unsigned branches;     /* that are inside of it */
	bool has_branched;
	bool fork_requested;	/* its code is to fork, and has not answered */
	struct worker *forking; /* into this branch, if that still lives */
	bool run_ended;		/* its code is dead, but not its pid 1 */
	struct exit_report end; /* likewise */
	struct exit_report last_end; /* of its pid 1, when that is reaped */
	/* Of a branch. */
	enum fork_stage fork;
	struct remit_error copy_error; /* why its parent's code is not copied */
	unsigned joined_namespaces;    /* that the helper has joined */
	pid_t helper;
	int helper_fd;
	bool reported_locked; /* it says that it is locked */
	pid_t outer_pid;      /* as the parent's pid 1 sees its code */
	struct source on_helper;
};

/* In a jail for session `s`, cold; or for its pool, warm. The result is owned
   by the keeper, and speaks to its session or pool when something happens. */
struct worker *worker_new_cold(struct session *s, struct remit_error *err);
struct worker *worker_new_warm(struct pool *p, struct remit_error *err);

/* A branch of `parent`'s code, for session `s`. */
struct worker *worker_new_branch(struct session *s, struct worker *parent,
				 struct remit_error *err);
/* It has one branch less. */
void worker_remove_branch(struct worker *i, const struct worker *branch);

/* The zygote's word on it: it was forked as `pid`, or not (*err). */
void worker_joined(struct worker *i, pid_t pid);
void worker_failed(struct worker *i, const struct remit_error *err);

/* A branch, whose session has said that it was copied: it may be complete. */
void worker_check_branch(struct worker *i);
/* Tell when the helper of its fork is dead. */
int worker_watch_helper(struct worker *i, struct remit_error *err) must_check;

/* Kill it; what is left is taken away when it is dead. */
void worker_kill(struct worker *i);
/* It has no session any more: kill it, now or at the next quiet moment. */
void worker_release(struct worker *i);

/* The keeper has reaped this child with this end. True if it was ours. */
bool worker_reaped(struct worker *i, pid_t pid, const struct exit_report *end);

/* Only when it is dead, or at the keeper's own end. */
void worker_free(struct worker *i);

#endif
