/*
 * result: what the keeper knows of an ended run or cell, for the frame
 * "result": facts, and claims that are marked as such. The library builds the
 * document of it (client/result_view.h).
 */
#ifndef REMIT_RESULT_H
#define REMIT_RESULT_H

#include "keeper/session/session.h"

/* How it ended. */
enum status result_status(const struct session *s);
/* The keeper's members of a result (wire/result.h) as one JSON object.
   -1: no memory, or too long. */
int result_write(struct buf *out, const struct session *s) must_check;

#endif
