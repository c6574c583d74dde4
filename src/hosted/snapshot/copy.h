/*
 * snapshot_copy: copies the files of a session's workspace into a snapshot, and
 * those of a snapshot into a new session.
 *
 * The session's own process reads and writes the files, so nothing of them is
 * opened outside the jail, and its answers are claims: a hostile session can
 * lie about its files, but only to itself. Both functions block, and are called
 * in the session's worker between its cells (see hosted_visit()).
 */
#ifndef REMIT_SNAPSHOT_COPY_H
#define REMIT_SNAPSHOT_COPY_H

#include "hosted/snapshot/reader.h"
#include "hosted/snapshot/writer.h"

/* The maximum memory of a copy: an answer of the session, and the list of
   entries. */
#define SNAPSHOT_COPY_BYTES ((size_t)128 * 1024 * 1024)

/*
 * Stores regular files, directories, and symbolic links as texts. Files of
 * other kinds, on other file systems, or that cannot be read, are recorded as
 * skipped. Fails if files with holes are longer than `max_bytes` together: they
 * could not be written again.
 */
int snapshot_capture(struct remit_session *session, struct snapshot_writer *w,
		     uint64_t max_bytes, struct remit_error *err) must_check;

/* Writes all files into a session that has run nothing. `piece` is the most
   that one operation can write (see input_bytes). */
int snapshot_restore(struct remit_session *session, struct snapshot_reader *r,
		     size_t piece, struct remit_error *err) must_check;

#endif
