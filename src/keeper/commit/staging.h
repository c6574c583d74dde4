/*
 * staging: a private directory inside a directory of the host, where new files
 * are prepared, and replaced files are put before they are removed.
 *
 * It has one of a few names, a lock, and a marker file that shows that it
 * belongs to Remit. If a keeper was killed, the next one that uses the name
 * removes what it has left.
 */
#ifndef REMIT_STAGING_H
#define REMIT_STAGING_H

#include "keeper/commit/diff.h"

struct staging {
	int top; /* the host's directory */
	int fd;	 /* the staging directory in it */
	char name[32];
	char item[24];
	struct stat owner; /* owner of the host's directory, for files made by
			      root */
};

#define STAGING_INIT       \
	{                  \
		.top = -1, \
		.fd = -1,  \
	}

/* Returns -1 with errno set; EINVAL: the file system cannot exchange names. */
int staging_open(struct staging *st, int top) must_check;
/* Returns the name of change number i in the stage, valid until the next
   call. */
const char *staging_name(struct staging *st, size_t i);
/* Makes the new file or directory of a change. Returns -1 with errno set. */
int staging_copy(struct staging *st, const struct diff *s,
		 const struct change *c, const char *name) must_check;
/* Removes the stage with its contents. */
void staging_free(struct staging *st);

#endif
