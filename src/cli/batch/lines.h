/*
 * batch_lines: reads a file line by line, never as a whole.
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
	int fd;		 /* borrowed */
	int stop_fd;	 /* when it is readable, reading stops; or -1 */
	struct buf line; /* the last line, without its newline */
	uint64_t number; /* of that line, from 1 */
	uint64_t end;	 /* how many bytes of the file were consumed */
	bool is_long; /* the line exceeds the cap of `line`, which is empty */
	bool is_torn; /* the last line has no newline */
	bool is_stopped;
	size_t at, have; /* offsets in `piece` */
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
/* Returns true if the line consists of blanks only. */
bool batch_lines_is_blank(const struct batch_lines *l);
void batch_lines_free(struct batch_lines *l);

/* Returns how many lines of a regular file are not blank. The file offset does
   not move. Returns -1 if the file cannot be read with pread(). */
int64_t batch_lines_count(int fd);

#endif
