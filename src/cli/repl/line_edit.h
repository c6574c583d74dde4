/*
 * line_edit: one line as somebody types it at a terminal. Bytes go in, and
 * what is to be shown comes out; it reads and writes nothing itself.
 *
 * Left, right, Home, End, Ctrl-A, Ctrl-E move; up and down, Ctrl-P, Ctrl-N
 * bring back earlier lines; Backspace, Delete, Ctrl-K, Ctrl-U, Ctrl-W erase.
 */
#ifndef REMIT_LINE_EDIT_H
#define REMIT_LINE_EDIT_H

#include "base/buf.h"
#include "base/list.h"

#define LINE_EDIT_BYTES	  (64 * 1024)
#define LINE_EDIT_HISTORY 1000

enum line_state {
	LINE_MORE,    /* it is not complete yet */
	LINE_DONE,    /* Enter */
	LINE_STOPPED, /* Ctrl-C */
	LINE_END,     /* Ctrl-D in an empty line */
};

struct line_edit {
	struct buf text; /* UTF-8 */
	size_t at;	 /* the cursor, in bytes */
	struct list history;
	size_t shown;	   /* which of these; history.count: none of them */
	struct buf own;	   /* what was typed before that */
	char sequence[16]; /* of an escape or a character, so far */
	size_t sequence_len;
};

#define LINE_EDIT_INIT \
	{ .text = BUF_INIT(LINE_EDIT_BYTES), .own = BUF_INIT(LINE_EDIT_BYTES) }

/* An empty line. */
void line_edit_begin(struct line_edit *e);
/* The next byte. What does not fit, or means nothing, changes nothing. */
enum line_state line_edit_feed(struct line_edit *e, unsigned char byte);
/* Adds what a terminal with so many columns is to show: the prompt and the
   part of the line around the cursor. */
int line_edit_draw(const struct line_edit *e, const char *prompt,
		   unsigned columns, struct buf *out) must_check;
/* A line that may be brought back. The oldest of too many is forgotten. */
int line_edit_remember(struct line_edit *e, const char *line) must_check;
void line_edit_free(struct line_edit *e);

#endif
