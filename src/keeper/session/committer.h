/*
 * session_committer: the process that writes to the host what a session has
 * changed in directories of mode rw, so that no other session waits for the
 * disk. It dies with the keeper.
 */
#ifndef REMIT_SESSION_COMMITTER_H
#define REMIT_SESSION_COMMITTER_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"
#include "keeper/commit/commit.h"
#include "keeper/commit/commit_state.h"

struct committer {
	/* later changes by other processes are detected */
	struct ctime_mark since;
	struct timespec begun_at; /* in the time that the kernel writes into
				     inodes; the session is not older */
	int process;		  /* a pidfd; -1: not running */
	int report;		  /* the pipe with its report */
	struct buf text;	  /* the report read so far */
	struct buf prior; /* state from the last commit for the next one */
	bool is_late;	  /* it missed its deadline and was killed */
	struct source on_report;
};

#define COMMITTER_INIT                                          \
	{                                                       \
		.process = -1,                                  \
		.report = -1,                                   \
		.text = BUF_INIT((2 << 20) + COMMIT_STATE_MAX), \
		.prior = BUF_INIT(COMMIT_STATE_MAX),            \
		.on_report = SOURCE_INIT,                       \
	}

/* Starts the process. If `stopped` is not 0, the process waits until that
   process has stopped. Calls ready(owner) when the report can be read. */
int committer_start(struct committer *c, struct loop *l,
		    const struct commit_params *o, pid_t stopped,
		    void (*ready)(void *owner, uint32_t events), void *owner,
		    struct remit_error *err) must_check;
/* Reads some of the report. Returns true when it is complete or cannot
   continue. */
bool committer_read(struct committer *c) must_check;
/* Called when committer_read() returned true. Sets *changes to the members
   "changes" and "changes_skipped" of the result, whether the process succeeded
   or not. Returns -1 if memory is short. */
int committer_finish(struct committer *c, struct loop *l, struct buf *changes,
		     struct remit_error *err) must_check;
/* Kills the process, because it missed its deadline. */
void committer_stop(struct committer *c);
/* Waits for a running process, so that it does not stop halfway. */
void committer_free(struct committer *c, struct loop *l);

#endif
