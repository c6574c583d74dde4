/*
 * line_edit: edits one line at a terminal. The caller feeds the bytes that the
 * user types, and writes what line_edit_draw() returns; this module does no
 * I/O.
 *
 * Left, right, Home, End, Ctrl-A, Ctrl-E move; up and down, Ctrl-P, Ctrl-N
 * recall earlier lines; Backspace, Delete, Ctrl-K, Ctrl-U, Ctrl-W erase.
 */
#ifndef REMIT_LINE_EDIT_H
#define REMIT_LINE_EDIT_H

#include "base/buf.h"
#include "base/list.h"

#define LINE_EDIT_BYTES	  (64 * 1024)
#define LINE_EDIT_HISTORY 1000

enum line_state {
	LINE_MORE,    /* more bytes are needed */
	LINE_DONE,    /* Enter */
	LINE_STOPPED, /* Ctrl-C */
	LINE_END,     /* Ctrl-D in an empty line */
};

struct line_edit {
	struct buf text; /* UTF-8 */
	size_t at;	 /* the cursor, in bytes */
	struct list history;
	size_t shown; /* the index of the recalled line; history.count: none */
	struct buf own;	   /* the new line, while a recalled one is shown */
	char sequence[16]; /* the bytes so far of an escape sequence or a
			      character */
	size_t sequence_len;
};

#define LINE_EDIT_INIT \
	{ .text = BUF_INIT(LINE_EDIT_BYTES), .own = BUF_INIT(LINE_EDIT_BYTES) }

/* Begin with an empty line. */
void line_edit_begin(struct line_edit *e);
/* Feed the next byte. Unknown keys and text that does not fit are ignored. */
enum line_state line_edit_feed(struct line_edit *e, unsigned char byte);
/* Add to *out what a terminal with this many columns must be sent to show the
   prompt and the part of the line around the cursor. */
int line_edit_draw(const struct line_edit *e, const char *prompt,
		   unsigned columns, struct buf *out) must_check;
/* Add a line to the history. If the history is full, its oldest line is
   dropped. */
int line_edit_remember(struct line_edit *e, const char *line) must_check;
void line_edit_free(struct line_edit *e);

#endif
