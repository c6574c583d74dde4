/*
 * diff: compares what was written with the host's directory, and decides which
 * changes may be written there.
 *
 * Everything in the jail is dead. But hostile code has made the overlay, and
 * other processes may work in the host's directory at the same time. So no
 * links are followed, nothing is opened but beneath the two directories, and
 * the depth is bounded.
 *
 * Changes by others since the start are recognised by their change time
 * (ctime), which no program can choose. So the cost depends on the number of
 * changes, not on the size of the directory.
 */
#ifndef REMIT_DIFF_H
#define REMIT_DIFF_H

#include "keeper/commit/change.h"
#include "keeper/commit/commit_state.h"

/* The maximum depth of directories. */
#define DIFF_DEPTH_MAX 64

struct diff {
	int host, upper;	 /* the two root directories */
	struct ctime_mark since; /* when the run began */
	/* what earlier commits have written */
	const struct commit_state *prior;
	int root; /* the number of this root directory there */
	struct list
		allowed;  /* patterns of protected names that may be written */
	bool filters;	  /* check names and types */
	const char *path; /* of the host's directory, without symbolic links */
	struct list guarded; /* paths of the host that must not be replaced */
	bool lost;    /* a file was moved to a name that cannot be written */
	bool goes_on; /* the overlay will be used again */
	struct changes changes;
};

int diff_run(struct diff *s, struct remit_error *err) must_check;
void diff_free(struct diff *s);

/* Hides from the jail what the host's new directory of this path contains. */
int diff_make_opaque(const struct diff *s, const char *path) must_check;

/* Returns why the file or directory at `name` may not be removed with
   everything below it; NULL if it may. */
const char *diff_check_removal(const struct diff *s, int at, const char *name,
			       const char *path);

#endif
