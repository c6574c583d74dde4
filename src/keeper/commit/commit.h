/*
 * commit: writes to a directory of the host what a run has changed in it.
 *
 * First all new files are copied to a staging directory in the same file
 * system, so that a full disk changes nothing. Then each path is changed in one
 * step: the new file and the old one exchange their names (renameat2(2)), and
 * only then does the commit check whether the old file is the one that the code
 * had seen. If not, they are exchanged back. So even if the process is killed,
 * each path has the old file or the new one.
 *
 * A commit takes as long as the disk needs, so it runs in a separate process.
 */
#ifndef REMIT_COMMIT_H
#define REMIT_COMMIT_H

#include "jail/jail.h"
#include "keeper/commit/diff.h"

struct commit_params {
	const struct plan *plan;
	const struct write_root *roots; /* as many as plan->write_roots */
	struct ctime_mark since;
	bool dry;		 /* only list what would be written */
	const char *runtime_dir; /* where Remit's runtime is installed */
	bool goes_on;		 /* the session may commit again */
	const struct buf *prior; /* state of the last commit (commit_state.h) */
};

/* Writes the members "changes" and "changes_skipped" of the result to `out`,
   and the state for the next commit to `state`. */
int commit_run(const struct commit_params *o, struct buf *out,
	       struct buf *state, struct remit_error *err) must_check;

#endif
