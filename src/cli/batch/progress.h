/*
 * batch_progress: how the jobs of a batch ended, in numbers and in words, and
 * its progress on one line of a terminal.
 *
 *	[=======>          ] 412/1000  312/s  400 ok, 12 failed  0:02 left
 */
#ifndef REMIT_BATCH_PROGRESS_H
#define REMIT_BATCH_PROGRESS_H

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

struct batch_bar {
	bool is_on;
	uint64_t total; /* jobs; 0: nobody knows */
};

/* The line for a terminal of so many columns, without control codes. */
int batch_bar_show(const struct batch_bar *b, const struct batch_count *c,
		   uint64_t wall_ms, unsigned columns,
		   struct buf *out) must_check;
/* Draw it on stderr over the last one, if it is on. */
void batch_bar_draw(const struct batch_bar *b, const struct batch_count *c,
		    uint64_t wall_ms);
/* Leave an empty line, if it is on. */
void batch_bar_clear(const struct batch_bar *b);

#endif
