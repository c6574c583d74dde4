/*
 * artifact_store: files that left jails, kept for their owners for a while and
 * up to a number of bytes: the oldest go first.
 */
#ifndef REMIT_ARTIFACT_STORE_H
#define REMIT_ARTIFACT_STORE_H

#include <stdint.h>

#include "error.h"

struct artifact_store;

/* In a new folder below `parent`, mode 0700. */
int artifact_store_open(struct artifact_store **out, const char *parent,
			uint64_t keep_ms, uint64_t max_bytes,
			struct remit_error *err) must_check;
/* With all that is in it. */
void artifact_store_free(struct artifact_store *s);

/* Where the files of a room are put, a new string; NULL without memory. The
   folder is made by whoever writes there. */
char *artifact_store_path(const struct artifact_store *s, const char *id);
/* The room has ended: what is there is kept from now on. */
void artifact_store_keep(struct artifact_store *s, const char *owner,
			 const char *id);
/* Forget what is too old. */
void artifact_store_sweep(struct artifact_store *s);

/* A regular file of a room that has ended, for reading. -1 with errno: ENOENT
   also if it is another owner's. */
int artifact_store_read(struct artifact_store *s, const char *owner,
			const char *id, const char *path) must_check;

#endif
