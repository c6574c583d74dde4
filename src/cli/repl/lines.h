/*
 * repl_lines: reads the input of `remit repl` line by line: from a terminal
 * with an editor, from anything else unchanged.
 */
#ifndef REMIT_REPL_LINES_H
#define REMIT_REPL_LINES_H

#include "cli/repl/line_edit.h"

struct repl_lines {
	bool terminal;
	struct line_edit edit;
	struct buf ahead; /* bytes that were read after the end of the line */
	bool ended;
};

#define REPL_LINES_INIT                             \
	{                                           \
		.edit = LINE_EDIT_INIT,             \
		.ahead = BUF_INIT(LINE_EDIT_BYTES), \
	}

/* Begin to read standard input. */
void repl_lines_open(struct repl_lines *l);
/* Read the next line into *out. Returns LINE_DONE, LINE_STOPPED or LINE_END. */
enum line_state repl_lines_read(struct repl_lines *l, const char *prompt,
				struct buf *out);
void repl_lines_free(struct repl_lines *l);

#endif
