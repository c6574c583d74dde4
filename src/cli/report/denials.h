/*
 * denials: what was refused to a run, one line each for a terminal.
 */
#ifndef REMIT_DENIALS_H
#define REMIT_DENIALS_H

#include <jansson.h>

#include "base/buf.h"

/* Add the lines for a result; nothing if nothing was refused. */
int denials_show(const json_t *result, struct buf *out) must_check;
/* Of one row only what was tried: `execve "/bin/sh" ×3`. */
int denials_show_tried(const json_t *row, struct buf *out) must_check;

#endif
