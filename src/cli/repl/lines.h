/*
 * repl_lines: the lines that somebody types, from a terminal with an editor,
 * or from anything else as they are.
 */
#ifndef REMIT_REPL_LINES_H
#define REMIT_REPL_LINES_H

#include "cli/repl/line_edit.h"

struct repl_lines {
	bool terminal;
	struct line_edit edit;
	struct buf ahead; /* what was read behind a line */
	bool ended;
};

#define REPL_LINES_INIT                             \
	{                                           \
		.edit = LINE_EDIT_INIT,             \
		.ahead = BUF_INIT(LINE_EDIT_BYTES), \
	}

/* From standard input. */
void repl_lines_open(struct repl_lines *l);
/* LINE_DONE with the line in *out, LINE_STOPPED or LINE_END. */
enum line_state repl_lines_read(struct repl_lines *l, const char *prompt,
				struct buf *out);
void repl_lines_free(struct repl_lines *l);

#endif
