/*
 * batch_result: one line of results: what `remit run --json` prints, with the
 * job's id before it; and the sequence in which the lines are written.
 */
#ifndef REMIT_BATCH_RESULT_H
#define REMIT_BATCH_RESULT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/result.h"

struct batch_result {
	struct buf line; /* with its newline */
	enum status status;
	bool is_good;	 /* `remit run` would have exited with 0 */
	char *directory; /* of its artifacts, or NULL */
};

/* Of a run. */
int batch_result_of_run(struct batch_result *out, const char *id,
			const struct remit_result *res,
			struct remit_error *err) must_check;
/* Of what had no run: refused if the job was wrong, else internal. `line` is
   put beside the id unless it is 0. */
int batch_result_of_error(struct batch_result *out, const char *id,
			  uint64_t line, const struct remit_error *why,
			  struct remit_error *err) must_check;
void batch_result_free(struct batch_result *r);

/* Results that wait for those before them, at most so many and so large; then
   no new job is begun until the first of them is there. */
struct batch_sequence {
	struct batch_result *slots; /* a ring by sequence; empty: not there */
	size_t capacity;	    /* 0: as they come */
	uint64_t next;		    /* the sequence to be given out next */
	size_t bytes;		    /* of all that are held */
};

/* `room` 0 gives results out as they come. -1 with errno ENOMEM. */
int batch_sequence_init(struct batch_sequence *o, size_t capacity) must_check;
/* Whether the job `sequence`, counted from 0, may be begun. */
bool batch_sequence_has_space(const struct batch_sequence *o,
			      uint64_t sequence);
/* Take a result over, and empty *r. The job had room. */
void batch_sequence_put(struct batch_sequence *o, uint64_t sequence,
			struct batch_result *r);
/* Give the next one out, if it is there; the caller frees it. */
bool batch_sequence_pop(struct batch_sequence *o, struct batch_result *out);
void batch_sequence_free(struct batch_sequence *o);

#endif
