/*
 * batch_progress: counts how the jobs of a batch ended, and shows the progress
 * on one line of a terminal.
 *
 *	[=======>          ] 412/1000  312/s  400 ok, 12 failed  0:02 left
 */
#ifndef REMIT_BATCH_PROGRESS_H
#define REMIT_BATCH_PROGRESS_H

#include "cli/batch/result.h"

struct batch_count {
	uint64_t by_status[STATUS_COUNT]; /* written results */
	uint64_t written;		  /* their sum */
	uint64_t good;	  /* see is_good in cli/batch/result.h */
	uint64_t skipped; /* jobs that had a result before */
};

void batch_count_add(struct batch_count *c, const struct batch_result *r);
/* Returns true if every job ran, so none was refused or lost. */
bool batch_count_all_ran(const struct batch_count *c);
/* Add a summary: "10 jobs: 7 ok, 2 error, 1 timeout in 3.2 s, 3/s". */
int batch_count_show(const struct batch_count *c, uint64_t wall_ms,
		     struct buf *out) must_check;
/* Returns jobs per second. */
double batch_count_rate(const struct batch_count *c, uint64_t wall_ms);

struct batch_bar {
	bool is_on;
	uint64_t total; /* number of jobs; 0: unknown */
};

/* Add the line for a terminal with this many columns, without control codes. */
int batch_bar_show(const struct batch_bar *b, const struct batch_count *c,
		   uint64_t wall_ms, unsigned columns,
		   struct buf *out) must_check;
/* Draw the bar on stderr over the last one, if it is on. */
void batch_bar_draw(const struct batch_bar *b, const struct batch_count *c,
		    uint64_t wall_ms);
/* Erase the bar, if it is on. */
void batch_bar_clear(const struct batch_bar *b);

#endif
