/*
 * batch_sequence: results that wait for those before them, at most so many and
 * so large; then no new job is begun until the first of them is there.
 */
#ifndef REMIT_BATCH_SEQUENCE_H
#define REMIT_BATCH_SEQUENCE_H

#include "cli/batch/result.h"

struct batch_sequence {
	struct batch_result *held; /* a ring by sequence; empty: not there */
	size_t room;		   /* 0: as they come */
	uint64_t next;		   /* the sequence to be given out next */
	size_t bytes;		   /* of all that are held */
};

/* `room` 0 gives results out as they come. -1 with errno ENOMEM. */
int batch_sequence_init(struct batch_sequence *o, size_t room) must_check;
/* Whether the job `sequence`, counted from 0, may be begun. */
bool batch_sequence_has_room(const struct batch_sequence *o, uint64_t sequence);
/* Take a result over, and empty *r. The job had room. */
void batch_sequence_put(struct batch_sequence *o, uint64_t sequence,
			struct batch_result *r);
/* Give the next one out, if it is there; the caller frees it. */
bool batch_sequence_take(struct batch_sequence *o, struct batch_result *out);
void batch_sequence_free(struct batch_sequence *o);

#endif
