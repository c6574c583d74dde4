/*
 * staging: a directory of our own inside a directory of the host, where files
 * are made ready to take their places, and what they replace is put before it
 * is gone.
 *
 * It has one of a few names, a lock, and a file that says that it is ours. What
 * a keeper that was killed has left, the next one that takes the name finds.
 */
#ifndef REMIT_STAGING_H
#define REMIT_STAGING_H

#include "keeper/commit/diff.h"

struct staging {
	int top; /* the host's directory */
	int fd;	 /* in it */
	char name[32];
	char item[24];
	struct stat owner; /* of the directory, and of what is made by root */
};

#define STAGING_INIT       \
	{                  \
		.top = -1, \
		.fd = -1,  \
	}

/* -1 with errno; EINVAL: files cannot exchange their names there. */
int staging_open(struct staging *st, int top) must_check;
/* What change number i is called there, until the next call. */
const char *staging_name(struct staging *st, size_t i);
/* Make the new file or directory of a change. -1 with errno. */
int staging_copy(struct staging *st, const struct diff *s,
		 const struct change *c, const char *name) must_check;
/* With all that is in it. */
void staging_free(struct staging *st);

#endif
