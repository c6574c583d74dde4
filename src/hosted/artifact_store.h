/*
 * artifact_store: files that left jails, kept for their owners for a limited
 * time and up to a limited number of bytes, which includes files being written.
 * Each owner has a share: a new file beyond it evicts the owner's own oldest
 * files. When the whole store is full, the oldest files of its largest owner
 * are evicted.
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

/* Creates a new directory below the parent, with mode 0700, and removes the
   directories that killed servers left there. */
int artifact_store_open(struct artifact_store **out,
			const struct artifact_store_options *opt,
			struct remit_error *err) must_check;
/* Removes the directory and all files in it. Accepts NULL. */
void artifact_store_free(struct artifact_store *s);

/* Returns the directory for the files of a hosted session as a new string, or
   NULL if memory is exhausted. The writer creates the directory. */
char *artifact_store_path(const struct artifact_store *s, const char *id);
/* Reserves space for a file before it is written. Returns false if there is not
   enough. */
bool artifact_store_reserve(struct artifact_store *s, const char *owner,
			    const char *id, const char *path,
			    uint64_t size_bytes) must_check;
/* Removes the files of a hosted session instead of keeping them. */
void artifact_store_discard(struct artifact_store *s, const char *owner,
			    const char *id);
/* Called when the hosted session has ended: keeps its files for a limited time,
   or removes them if there is not enough space. */
void artifact_store_keep(struct artifact_store *s, const char *owner,
			 const char *id);
/* Removes files that are past their time. */
void artifact_store_sweep(struct artifact_store *s);

/* Opens a regular file of a hosted session that has ended, for reading. Returns
   -1 with errno; ENOENT also if the file belongs to another owner. */
int artifact_store_read(struct artifact_store *s, const char *owner,
			const char *id, const char *path) must_check;

#endif
