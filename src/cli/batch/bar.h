/*
 * batch_bar: the progress of a batch, on one line of a terminal.
 *
 *	[=======>          ] 412/1000  312/s  400 ok, 12 failed  0:02 left
 */
#ifndef REMIT_BATCH_BAR_H
#define REMIT_BATCH_BAR_H

#include "cli/batch/count.h"

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
