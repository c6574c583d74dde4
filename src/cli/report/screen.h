/*
 * screen: a program's output on a terminal. Text, tab, newline and colour
 * codes pass; anything else that could move the cursor, retitle the window or
 * paste text is shown as its escaped bytes.
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

#endif
