/*
 * result: the document a door gets, but for the output itself, which it has
 * already received piece by piece.
 */
#ifndef REMIT_RESULT_H
#define REMIT_RESULT_H

#include "session.h"

/* How it ended. */
enum status result_status(const struct session *s);
/* -1: no memory, or too long. */
int result_write(struct buf *out, const struct session *s) must_check;

#endif
