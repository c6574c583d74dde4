/*
 * batch_count: how the jobs of a batch ended, in numbers and in words.
 */
#ifndef REMIT_BATCH_COUNT_H
#define REMIT_BATCH_COUNT_H

#include "cli/batch/result.h"

struct batch_count {
	uint64_t by_status[STATUS_COUNT]; /* results that are written */
	uint64_t written;		  /* their sum */
	uint64_t good;			  /* as cli/batch/result.h has it */
	uint64_t skipped;		  /* had a result before */
};

void batch_count_add(struct batch_count *c, const struct batch_result *r);
/* Whether each job was run, and not refused or lost. */
bool batch_count_all_ran(const struct batch_count *c);
/* "10 jobs: 7 ok, 2 error, 1 timeout in 3.2 s, 3/s" */
int batch_count_show(const struct batch_count *c, uint64_t wall_ms,
		     struct buf *out) must_check;
/* Jobs in a second. */
double batch_count_rate(const struct batch_count *c, uint64_t wall_ms);

#endif
