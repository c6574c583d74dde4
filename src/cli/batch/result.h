/*
 * batch_result: one line of results: the object that `remit run --json` prints,
 * with the job's id as first member; and the order in which lines are written.
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
	char *directory; /* the directory of its artifacts, or NULL */
};

/* Make the line of a job that ran. */
int batch_result_of_run(struct batch_result *out, const char *id,
			const struct remit_result *res,
			struct remit_error *err) must_check;
/* Make the line of a job that did not run. Its status is "refused" if the job
   was wrong, else "internal". Unless `line` is 0, it follows the id. */
int batch_result_of_error(struct batch_result *out, const char *id,
			  uint64_t line, const struct remit_error *why,
			  struct remit_error *err) must_check;
void batch_result_free(struct batch_result *r);

/* Results that wait for earlier ones. Their number and size are limited: at the
   limit, no new job starts until the first missing result has arrived. */
struct batch_sequence {
	struct batch_result
		*slots;	 /* a ring, indexed by sequence; empty lines: missing */
	size_t capacity; /* 0: results are not ordered */
	uint64_t next;	 /* the sequence of the next result to write */
	size_t bytes;	 /* size of all waiting results */
};

/* With the capacity 0 results are written as they arrive. Returns -1 with errno
   ENOMEM. */
int batch_sequence_init(struct batch_sequence *o, size_t capacity) must_check;
/* Returns true if the job with this index, counted from 0, may start. */
bool batch_sequence_has_space(const struct batch_sequence *o,
			      uint64_t sequence);
/* Move a result into its slot and empty *r. Call it only for a job for which
   batch_sequence_has_space() returned true. */
void batch_sequence_put(struct batch_sequence *o, uint64_t sequence,
			struct batch_result *r);
/* Move the next result to *out, which the caller frees. Returns false if it is
   still missing. */
bool batch_sequence_pop(struct batch_sequence *o, struct batch_result *out);
void batch_sequence_free(struct batch_sequence *o);

#endif
