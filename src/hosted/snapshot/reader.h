/*
 * snapshot_reader: reads one snapshot, and checks what it reads: whatever was
 * damaged on disk is an error, and never becomes a file of a session.
 */
#ifndef REMIT_SNAPSHOT_READER_H
#define REMIT_SNAPSHOT_READER_H

#include "hosted/snapshot/store.h"
#include "hosted/snapshot/writer.h"

enum snapshot_type {
	SNAPSHOT_FILE,
	SNAPSHOT_DIRECTORY,
	SNAPSHOT_LINK,
	SNAPSHOT_SKIPPED,
};

/* An entry of the file tree. A directory comes before what is in it. All texts
   are valid as long as the reader. */
struct snapshot_entry {
	enum snapshot_type type;
	const char *path;
	const char *target; /* of a link */
	const char *reason; /* why it was skipped */
	const char *sha256; /* of a file */
	uint64_t size;
	struct snapshot_attributes attributes;
};

struct snapshot_reader;

int snapshot_reader_open(struct snapshot_reader **out, struct snapshot_store *s,
			 const char *owner, const char *id,
			 struct remit_error *err) must_check;
/* Accepts NULL. */
void snapshot_reader_free(struct snapshot_reader *r);

/* Returns 1 with the next entry, 0 at the end, -1 with an error. */
int snapshot_next(struct snapshot_reader *r, struct snapshot_entry *e,
		  struct remit_error *err) must_check;
/* Begins again with the first entry. */
void snapshot_rewind(struct snapshot_reader *r);

/*
 * Reads the contents of a file in pieces: calls `add` for each, in order. Fails
 * if they are not those that were stored; this is known after the last piece,
 * so the caller must discard what it has built with the others.
 */
int snapshot_read_object(const struct snapshot_reader *r,
			 const struct snapshot_entry *e, size_t piece,
			 int (*add)(void *user, const char *bytes, size_t len,
				    struct remit_error *err),
			 void *user, struct remit_error *err) must_check;

#endif
