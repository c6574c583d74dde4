/*
 * result: the document a door gets, but for the output itself, which it has
 * already received piece by piece.
 */
#ifndef REMIT_RESULT_H
#define REMIT_RESULT_H

#include "session.h"

/* A new reference, NULL without memory. */
json_t *result_make(const struct session *s);

#endif
