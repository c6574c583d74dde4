/*
 * workspace: where the code of a bare jail may write: a directory that the
 * keeper makes on the host and removes when the jail is dead.
 *
 *	$TMPDIR/remit-UID/        the keeper's user; gone when it is empty
 *	    NAME/                 of one run, locked as long as its keeper lives
 *	        .sentinel         no Landlock rule covers it (self_test.c)
 *	        workspace, tmp    the code's: HOME, and TMPDIR
 */
#ifndef REMIT_WORKSPACE_H
#define REMIT_WORKSPACE_H

#include <stdint.h>

#include "base/error.h"

enum workspace_directory {
	WORKSPACE_HOME,
	WORKSPACE_TEMP,
	WORKSPACE_DIRECTORIES,
};

extern const char *const workspace_names[WORKSPACE_DIRECTORIES];

struct workspace {
	char *path; /* of the run's directory; NULL: there is none */
	int base;   /* what it lies in */
	int fd;	    /* it, with its lock */
};

#define WORKSPACE_INIT { .base = -1, .fd = -1 }

/* Make one for code of that user. *out are its directories, opened as places.
 */
int workspace_make(struct workspace *w, uint32_t uid,
		   int out[WORKSPACE_DIRECTORIES],
		   struct remit_error *err) must_check;

/* A process of its own removes it: code can make so many files that the
   keeper would be busy for minutes. Who made them must be dead. */
void workspace_free(struct workspace *w);

/* Remove what keepers of this user left that were killed. How many. */
unsigned workspace_clean(void);
/* The same in a process of its own, and only if there is something. */
void workspace_clean_soon(void);

#endif
