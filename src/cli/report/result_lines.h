/*
 * result_lines: shows parts of a result to people at a terminal, as lines:
 * denials, changes to directories of the host, and findings of the validator.
 */
#ifndef REMIT_RESULT_LINES_H
#define REMIT_RESULT_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

/* Add a line for each denial of a result. */
int denials_show(const json_t *result, struct buf *out) must_check;
/* Add what one denied row tried: `execve "/bin/sh" ×3`. */
int denials_show_tried(const json_t *row, struct buf *out) must_check;

/* Add a line for each change that was skipped, which users must not miss. With
   `all`, also add a line for each change that was written, or would have
   been. */
int changes_show(const json_t *result, bool all, struct buf *out) must_check;

/* Print the findings of a rejected result: place, message and hint. `name` is
   the file name of the program. */
void findings_show(FILE *to, const char *name, const json_t *findings);

#endif
