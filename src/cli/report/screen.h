/*
 * screen: shows foreign text on a terminal without harm.
 *
 * In the output of a program, text, tab, newline and colour codes pass.
 * Anything else could move the cursor, change the window title or paste text,
 * and is shown as escaped bytes.
 *
 * Foreign text within a line of Remit stays on that line, and cannot move the
 * cursor or reverse the direction of writing. Invisible characters are escaped,
 * so that different texts never look the same.
 */
#ifndef REMIT_SCREEN_H
#define REMIT_SCREEN_H

#include <stdbool.h>

#include "base/buf.h"

struct screen {
	bool raw;	  /* pass everything unchanged */
	char pending[64]; /* an incomplete sequence or character */
	size_t pending_len;
};

/* Add these bytes to *out, with escapes where necessary. */
int screen_filter(struct screen *s, const char *bytes, size_t len,
		  struct buf *out) must_check;
/* Add the pending bytes, escaped. Call this at the end of the output. */
int screen_end(struct screen *s, struct buf *out) must_check;

/*
 * Add at most `max` characters of the text, then "..." if there are more.
 * Letters of all scripts stay as they are. A quote or backslash gets a
 * backslash before it, an invisible character becomes \x0a or \u{202e}, and a
 * blank after a blank becomes \x20.
 */
int line_text_add(struct buf *out, const char *text, size_t max) must_check;
/* Like line_text_add(), for a message of Remit that contains foreign text:
   quotes and backslashes stay as they are. */
int line_text_message(struct buf *out, const char *text, size_t max) must_check;

#endif
