/*
 * screen: foreign text on a terminal.
 *
 * A program's output: text, tab, newline and colour codes pass; anything else
 * that could move the cursor, retitle the window or paste text is shown as its
 * escaped bytes.
 *
 * Foreign text within a line of ours: it stays on that line, cannot move the
 * cursor or turn the direction of writing, and no two texts look the same
 * because of characters that nobody sees.
 */
#ifndef REMIT_SCREEN_H
#define REMIT_SCREEN_H

#include <stdbool.h>

#include "base/buf.h"

struct screen {
	bool raw;	  /* let everything through */
	char pending[64]; /* a sequence or character not yet complete */
	size_t pending_len;
};

/* Add to *out what may be shown of these bytes. */
int screen_filter(struct screen *s, const char *bytes, size_t len,
		  struct buf *out) must_check;
/* The end: what is still pending is shown escaped. */
int screen_end(struct screen *s, struct buf *out) must_check;

/*
 * Add at most `max` characters of the text, then "..." if there are more.
 * Letters of all scripts stand for themselves; a quote or backslash gets a
 * backslash before it; all that cannot be seen is \x0a or \u{202e}, and a blank
 * behind a blank \x20.
 */
int line_text_add(struct buf *out, const char *text, size_t max) must_check;
/* The same for a message of ours that has foreign text in it: quotes and
   backslashes stay as they are. */
int line_text_message(struct buf *out, const char *text, size_t max) must_check;

#endif
