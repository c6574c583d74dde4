/*
 * changes: what a run has changed in directories of the host, for people.
 */
#ifndef REMIT_CHANGES_H
#define REMIT_CHANGES_H

#include <jansson.h>

#include "base/buf.h"

/* What was not written always, since it must not be missed; what was written
   (or, if it was not, would have been) only if `all`. */
int changes_show(const json_t *result, bool all, struct buf *out) must_check;

#endif
