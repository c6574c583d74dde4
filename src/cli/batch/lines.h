/*
 * batch_lines: a file of lines, read one at a time and never as a whole.
 *
 *	own(batch_lines) struct batch_lines l = BATCH_LINES_INIT(fd, max);
 *	while (batch_lines_next(&l, err) == BATCH_LINES_GIVEN)
 *		l.line, l.number, ...
 */
#ifndef REMIT_BATCH_LINES_H
#define REMIT_BATCH_LINES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct batch_lines {
	int fd;	     /* borrowed */
	int stop_fd; /* once it is readable there are no more lines; or -1 */
	struct buf line; /* the last line, without its newline */
	uint64_t number; /* of that line, from 1 */
	uint64_t end;	 /* how many bytes of the file are behind us */
	bool is_long;	 /* longer than the cap of `line`, which is empty */
	bool is_torn;	 /* the file ended before its newline */
	bool is_stopped;
	size_t at, have; /* of `piece` */
	char piece[64 * 1024];
};

#define BATCH_LINES_INIT(from, max)                                  \
	{                                                            \
		.fd = (from), .stop_fd = -1, .line = {.cap = (max) } \
	}

enum batch_lines_answer {
	BATCH_LINES_ERROR = -1,
	BATCH_LINES_END,
	BATCH_LINES_GIVEN,
};

enum batch_lines_answer batch_lines_next(struct batch_lines *l,
					 struct remit_error *err) must_check;
/* Nothing but blanks. */
bool batch_lines_is_blank(const struct batch_lines *l);
void batch_lines_free(struct batch_lines *l);

/* How many lines of a regular file are not blank, read from its beginning
   without moving in it. -1: it cannot be read so. */
int64_t batch_lines_count(int fd);

#endif
