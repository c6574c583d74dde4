/*
 * survey: compare what was written with the host's folder, and see what of it
 * may be written there.
 *
 * All in the jail is dead, but the overlay was made by an adversary, and the
 * folder is the host's, where others may work at the same time. So no link is
 * followed, nothing is opened but beneath the two folders, and the depth is
 * bounded.
 *
 * What somebody else has touched since the start is told by its time of
 * change, which no program can choose: so the cost is that of the changes, not
 * of the folder.
 */
#ifndef REMIT_SURVEY_H
#define REMIT_SURVEY_H

#include "keeper/commit/change.h"
#include "keeper/commit/commit_state.h"
#include "keeper/commit/ctime_mark.h"

/* Folders within each other, at most. */
#define SURVEY_DEPTH_MAX 64

struct survey {
	int host, upper;		  /* the two folders */
	struct ctime_mark since;	  /* the start of the run */
	const struct commit_state *prior; /* what earlier commits have left */
	int root;			  /* the folder's number there */
	struct list allowed; /* protected names that may be written */
	bool filters;	     /* names and kinds are looked at at all */
	const char *path;    /* of the host's folder, without links */
	struct list guarded; /* paths of the host that must stay */
	bool lost;	     /* something that was moved has no new place */
	bool goes_on;	     /* the overlay is used on */
	struct changes changes;
};

int survey_run(struct survey *s, struct remit_error *err) must_check;
void survey_free(struct survey *s);

/* From now on the host has a folder of that name, too: what is in that must not
   show in the jail. */
int survey_make_opaque(const struct survey *s, const char *path) must_check;

/* Why what is at `name` may not be removed, with all that is in it; or NULL. */
const char *survey_check_removal(const struct survey *s, int at,
				 const char *name, const char *path);

#endif
