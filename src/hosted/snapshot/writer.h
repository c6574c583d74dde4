/*
 * snapshot_writer: writes one snapshot. Until it is committed, searches do
 * not find it. A writer that is freed before that leaves nothing behind.
 *
 * Paths are relative, and texts only: nothing on disk has their names.
 */
#ifndef REMIT_SNAPSHOT_WRITER_H
#define REMIT_SNAPSHOT_WRITER_H

#include "base/list.h"
#include "hosted/snapshot/store.h"

struct snapshot_writer;

/* Attributes of a file or directory. */
struct snapshot_attributes {
	unsigned mode;
	long long modified_ns;
};

/* Fails with REMIT_E_BUSY if the owner has too many snapshots. */
int snapshot_writer_open(struct snapshot_writer **out, struct snapshot_store *s,
			 const char *owner, struct remit_error *err) must_check;
/* Accepts NULL. */
void snapshot_writer_free(struct snapshot_writer *w);

/* Each of the functions below fails with REMIT_E_BUSY if the owner's share of
   the store, or the disk, is full. After a failure the writer can only be
   freed. */

int snapshot_add_directory(struct snapshot_writer *w, const char *path,
			   const struct snapshot_attributes *a,
			   struct remit_error *err) must_check;
int snapshot_add_link(struct snapshot_writer *w, const char *path,
		      const char *target, struct remit_error *err) must_check;
/* Records that something was left out, and why. */
int snapshot_add_skipped(struct snapshot_writer *w, const char *path,
			 const char *reason,
			 struct remit_error *err) must_check;
/* A file: its contents in pieces, then its name. */
int snapshot_begin_file(struct snapshot_writer *w,
			struct remit_error *err) must_check;
int snapshot_add_bytes(struct snapshot_writer *w, const char *bytes, size_t len,
		       struct remit_error *err) must_check;
int snapshot_end_file(struct snapshot_writer *w, const char *path,
		      const struct snapshot_attributes *a,
		      struct remit_error *err) must_check;

/* Instead of the end: the file is not stored. */
void snapshot_discard_file(struct snapshot_writer *w);

/* The first entries that were left out, as "path: reason". */
const struct list *snapshot_skipped(const struct snapshot_writer *w);

/* Completes the snapshot: after a crash it is found again. Of `info`, the
   caller sets id, kind, name and source; the rest is filled in. */
int snapshot_commit(struct snapshot_writer *w, struct snapshot_info *info,
		    const char *about, struct remit_error *err) must_check;

#endif
