/*
 * result: what the keeper knows about a run or cell that has ended, for the
 * frame "result". Claims are marked as such. The library builds the document
 * (client/result_view.h).
 */
#ifndef REMIT_RESULT_H
#define REMIT_RESULT_H

#include "keeper/session/session.h"

/* Returns how it ended. */
enum status result_status(const struct session *s);
/* Writes the keeper's members of a result (wire/result.h) as one JSON object.
   Returns -1 if memory is short or the object is too long. */
int result_write(struct buf *out, const struct session *s) must_check;

#endif
