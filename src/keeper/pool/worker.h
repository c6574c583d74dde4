/*
 * worker: a jail and the interpreter in it, from the first step of the build
 * until everything is removed. It is built for one session (cold) or for a pool
 * (warm). A session gets it when it waits for a job.
 *
 *	building → joining → locking → warming → waiting → in use → spent →
 *dying (a cold worker starts at locking and skips warming)
 *
 * A branch is built inside its session's jail. Instead of a zygote's child, a
 * copy of the session's code joins it (branch.h). When the code of a jail that
 * has branches ends, its pid 1 stays alive until all of them are gone.
 */
#ifndef REMIT_WORKER_H
#define REMIT_WORKER_H

#include "base/loop.h"
#include "jail/jail.h"
#include "keeper/packages/package_layer.h"
#include "keeper/pool/cpu_share.h"
#include "keeper/pool/watch.h"
#include "proxy/proxy.h"

struct keeper;
struct pool;
struct session;

enum worker_state {
	WORKER_BUILDING, /* pid 1 builds the jail */
	WORKER_JOINING,	 /* the zygote forks a child into it */
	WORKER_LOCKING,	 /* the interpreter locks itself down */
	WORKER_WARMING,	 /* the interpreter imports and warms up */
	WORKER_WAITING,	 /* for a job */
	WORKER_IN_USE,	 /* a session uses it */
	WORKER_SPENT,	 /* it is done, and is killed soon */
	WORKER_DYING,
};

/* The progress of copying the code into a branch. */
enum fork_stage {
	FORK_REQUESTED = 1,
	FORK_REFUSED, /* see `copy_error` */
	FORK_JOINING, /* a helper exists, or will soon */
	FORK_FORKING,
	FORK_COPIED,
};

struct watching;

struct worker {
	struct worker *next;  /* in the keeper's list */
	struct worker *later; /* in its pool's queue */
	struct keeper *keeper;
	struct pool *pool; /* its plan is the worker's */
	bool in_pool;	   /* belongs to the pool, not to a session */
	struct session *session;
	enum worker_state state;
	struct jail jail;
	struct cpu_share cpu_share;
	struct proxy proxy; /* if the plan has network hosts */
	/* For its session: who watches its workspace, or NULL. */
	struct watching *watching;
	pid_t joined_pid; /* the child that the zygote has forked into it; 0:
			     not reported yet */
	bool warmed_up;
	bool has_reported; /* something has arrived on its channel */
	bool is_verified;  /* the kernel has confirmed which process is at the
			      channel */
	struct remit_error verify_error;
	int in; /* the writer of its standard input */
	uint64_t made_us;
	struct source on_channel, on_lifeline, on_out, on_err, on_notice;
	struct timer deadline_timer;
	/* limits how often its calls are refused */
	struct bucket refusal_bucket;
	/* when the next call may be refused; for a branch that must be
	   verified: when to check it again */
	struct timer retry_timer;

	/* Package layers mounted in its jail while it ran; they are locked
	   until everything in it is dead. */
	struct package_layer installed[PLAN_INSTALLS_MAX];
	size_t installed_count;
	uint64_t installed_bytes;
	unsigned install_requests;

	struct worker *root;   /* the first worker of its family, or itself */
	struct worker *parent; /* of a branch */
	unsigned branches;     /* number of branches in its jail */
	bool has_branched;
	bool fork_requested; /* its code must fork, and has not reported yet */
	struct worker *forking; /* the branch that is being copied, if it still
				   exists */
	bool run_ended;		/* its code is dead, but not its pid 1 */
	struct exit_report end; /* the end of its code */
	struct exit_report last_end; /* the end of its pid 1 */
	/* Only for a branch. */
	enum fork_stage fork;
	struct remit_error
		copy_error;	    /* why the parent's code cannot be copied */
	unsigned joined_namespaces; /* number of namespaces that the helper has
				       joined */
	pid_t helper;
	int helper_fd;
	bool reported_locked; /* it has reported that it is locked */
	pid_t outer_pid;      /* its pid in the parent's jail */
	struct source on_helper;
};

/* Build a worker: a cold one for session `s`, or a warm one for a pool. The
   keeper owns the worker, which calls its session or pool when something
   happens. Return NULL on failure. */
struct worker *worker_new_cold(struct session *s, struct remit_error *err);
struct worker *worker_new_warm(struct pool *p, struct remit_error *err);

/* Builds a branch of `parent`'s code, for session `s`. */
struct worker *worker_new_branch(struct session *s, struct worker *parent,
				 struct remit_error *err);
/* Called when a branch is dead. */
void worker_remove_branch(struct worker *i, const struct worker *branch);

/* Called by the zygote server: the worker's process was forked as `pid`, or
   could not be forked. */
void worker_joined(struct worker *i, pid_t pid);
void worker_failed(struct worker *i, const struct remit_error *err);

/* Checks whether a branch is complete, after its code has reported the copy. */
void worker_check_branch(struct worker *i);
/* Watches for the death of the helper that makes a branch. */
int worker_watch_helper(struct worker *i, struct remit_error *err) must_check;

/* Kills the worker, which is removed when everything in it is dead. */
void worker_kill(struct worker *i);
/* The session no longer needs it: kills it now, or when no request is in
   progress. */
void worker_release(struct worker *i);

/* Handles the death of a child of the keeper. Returns true if it belonged to
   this worker. */
bool worker_reaped(struct worker *i, pid_t pid, const struct exit_report *end);

/* Only for a dead worker, or when the keeper ends. */
void worker_free(struct worker *i);

#endif
