/*
 * artifact_store: files that left jails, kept for their owners for a while and
 * up to a number of bytes, which counts what is being written as well. An owner
 * has a share: beyond it its own oldest files go. When all is taken, the oldest
 * files of the owner with the most go.
 */
#ifndef REMIT_ARTIFACT_STORE_H
#define REMIT_ARTIFACT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct artifact_store;

struct artifact_store_options {
	const char *parent;
	uint64_t keep_ms;
	uint64_t max_bytes, max_owner_bytes;
};

/* In a new directory below the parent, mode 0700. Directories there of servers
   that were killed are removed. */
int artifact_store_open(struct artifact_store **out,
			const struct artifact_store_options *opt,
			struct remit_error *err) must_check;
/* With all that is in it. */
void artifact_store_free(struct artifact_store *s);

/* Where the files of a hosted session are put, a new string; NULL without
   memory. The directory is made by whoever writes there. */
char *artifact_store_path(const struct artifact_store *s, const char *id);
/* Before a file of a hosted session is written. False: there is no space for
 * it. */
bool artifact_store_reserve(struct artifact_store *s, const char *owner,
			    const char *id, const char *path,
			    uint64_t size_bytes) must_check;
/* Nothing of the room is kept. */
void artifact_store_discard(struct artifact_store *s, const char *owner,
			    const char *id);
/* The hosted session has ended: what is there is kept from now on. */
void artifact_store_keep(struct artifact_store *s, const char *owner,
			 const char *id);
/* Forget what is too old. */
void artifact_store_sweep(struct artifact_store *s);

/* A regular file of a hosted session that has ended, for reading. -1 with
   errno: ENOENT also if it is another owner's. */
int artifact_store_read(struct artifact_store *s, const char *owner,
			const char *id, const char *path) must_check;

#endif
