/*
 * diff: compare what was written with the host's directory, and see what of it
 * may be written there.
 *
 * All in the jail is dead, but the overlay was made by an adversary, and the
 * directory is the host's, where others may work at the same time. So no link
 * is followed, nothing is opened but beneath the two directories, and the depth
 * is bounded.
 *
 * What somebody else has touched since the start is told by its time of
 * change, which no program can choose: so the cost is that of the changes, not
 * of the directory.
 */
#ifndef REMIT_DIFF_H
#define REMIT_DIFF_H

#include "keeper/commit/change.h"
#include "keeper/commit/commit_state.h"

/* Directories within each other, at most. */
#define DIFF_DEPTH_MAX 64

struct diff {
	int host, upper;		  /* the two directories */
	struct ctime_mark since;	  /* the start of the run */
	const struct commit_state *prior; /* what earlier commits have left */
	int root;			  /* the directory's number there */
	struct list allowed; /* protected names that may be written */
	bool filters;	     /* names and kinds are looked at at all */
	const char *path;    /* of the host's directory, without links */
	struct list guarded; /* paths of the host that must stay */
	bool lost;	     /* something that was moved has no new place */
	bool goes_on;	     /* the overlay is used on */
	struct changes changes;
};

int diff_run(struct diff *s, struct remit_error *err) must_check;
void diff_free(struct diff *s);

/* From now on the host has a directory of that name, too: what is in that must
   not show in the jail. */
int diff_make_opaque(const struct diff *s, const char *path) must_check;

/* Why what is at `name` may not be removed, with all that is in it; or NULL. */
const char *diff_check_removal(const struct diff *s, int at, const char *name,
			       const char *path);

#endif
