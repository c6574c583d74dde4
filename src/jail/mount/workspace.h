/*
 * workspace: the directory that the code of a bare jail may write. The keeper
 * makes it on the host, and removes it when the jail is dead.
 *
 *	$TMPDIR/remit-UID/        of the keeper's user; removed when empty
 *	    NAME/                 of one run; locked while its keeper lives
 *	        .sentinel         no Landlock rule covers it (self_test.c)
 *	        workspace, tmp    the code's HOME and TMPDIR
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
	char *path; /* path of the run's directory; NULL: none */
	int base;   /* the directory that contains it */
	int fd;	    /* the directory itself, with its lock */
};

#define WORKSPACE_INIT { .base = -1, .fd = -1 }

/* Make a workspace for code of that user. *out are its directories, opened with
   O_PATH. */
int workspace_make(struct workspace *w, uint32_t uid,
		   int out[WORKSPACE_DIRECTORIES],
		   struct remit_error *err) must_check;

/* Remove the workspace in a separate process: code can make so many files that
   the keeper would be busy for minutes. The code must be dead. */
void workspace_free(struct workspace *w);

/* Remove what killed keepers of this user left behind. Returns how many
   workspaces were removed. */
unsigned workspace_clean(void);
/* Like workspace_clean(), in a separate process, and only if the base directory
   exists. */
void workspace_clean_soon(void);

#endif
