/*
 * result_lines: parts of a result, one line each for people at a terminal: what
 * was refused to a run, what it has changed in directories of the host, and
 * what the validator found.
 */
#ifndef REMIT_RESULT_LINES_H
#define REMIT_RESULT_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

/* Add the lines for a result; nothing if nothing was refused. */
int denials_show(const json_t *result, struct buf *out) must_check;
/* Of one row only what was tried: `execve "/bin/sh" ×3`. */
int denials_show_tried(const json_t *row, struct buf *out) must_check;

/* What was not written always, since it must not be missed; what was written
   (or, if it was not, would have been) only if `all`. */
int changes_show(const json_t *result, bool all, struct buf *out) must_check;

/* What the validator found: place, what, and a hint. The array of a rejected
   result; `name` is the program's. */
void findings_show(FILE *to, const char *name, const json_t *findings);

#endif
