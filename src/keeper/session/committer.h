/*
 * session_committer: the process that writes what a session has changed in
 * directories of mode rw to the host, so that no other session waits for the
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
	struct ctime_mark since;  /* changes by others from then on are seen */
	struct timespec begun_at; /* by the clock of inodes: nothing of the
				     session is older */
	int process;		  /* a pidfd; -1: there is none */
	int report;		  /* reads what the process reports */
	struct buf text;	  /* of that, so far */
	struct buf prior; /* what the last one has left for the next one */
	bool is_late;	  /* its deadline was missed, and it was killed */
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

/* Start the process. Unless `stopped` is 0 it waits until that process has
   stopped. ready(owner) is called when there is something to read. */
int committer_start(struct committer *c, struct loop *l,
		    const struct commit_params *o, pid_t stopped,
		    void (*ready)(void *owner, uint32_t events), void *owner,
		    struct remit_error *err) must_check;
/* Read some of the report. True if there is nothing more to come. */
bool committer_read(struct committer *c) must_check;
/* The process is done or dead: *changes becomes the members "changes" and
   "changes_skipped" of the result, whatever the process did. -1: no memory. */
int committer_finish(struct committer *c, struct loop *l, struct buf *changes,
		     struct remit_error *err) must_check;
/* Its time is over. */
void committer_stop(struct committer *c);
/* Waits for a process that writes: it does not stop half-way. */
void committer_free(struct committer *c, struct loop *l);

#endif
