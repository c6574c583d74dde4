/*
 * commit: write to a directory of the host what a run has changed in it.
 *
 * First everything is copied to a directory of our own beside it, so that a
 * full disk changes nothing. Then each path changes in one step: what is new
 * takes the place of what was there by an exchange of names, and only then is
 * it checked whether that was what the code had seen; if not, it is exchanged
 * back. So whoever is killed at any moment leaves the old or the new file.
 *
 * It takes as long as the disk does: in a process of its own.
 */
#ifndef REMIT_COMMIT_H
#define REMIT_COMMIT_H

#include "jail/jail.h"
#include "keeper/commit/diff.h"

struct commit_params {
	const struct plan *plan;
	const struct write_root *roots; /* plan->write_roots of them */
	struct ctime_mark since;
	bool dry;		 /* only say what would be written */
	const char *runtime_dir; /* Remit's own */
	bool goes_on;		 /* there may be another commit */
	const struct buf
		*prior; /* what the last one has told (commit_state.h) */
};

/* The members "changes" and "changes_skipped" of the result, and what the next
   commit is to know. */
int commit_run(const struct commit_params *o, struct buf *out,
	       struct buf *state, struct remit_error *err) must_check;

#endif
