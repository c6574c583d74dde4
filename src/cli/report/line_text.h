/*
 * line_text: foreign text within a line of ours. It stays on that line, cannot
 * move the cursor or turn the direction of writing, and no two texts look the
 * same because of characters that nobody sees.
 */
#ifndef REMIT_LINE_TEXT_H
#define REMIT_LINE_TEXT_H

#include "base/buf.h"

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
