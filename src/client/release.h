/*
 * release: a keeper that outlived an upgrade, or of another installation, may
 * speak another protocol (wire/frame.h). It is refused with one sentence that
 * names both releases and the remedy.
 */
#ifndef REMIT_RELEASE_H
#define REMIT_RELEASE_H

#include <stdbool.h>

#include "wire/link.h"

struct remit;

/* As link_next(), from the shared or the private keeper of `r`, or from one
   that is not named (NULL). Returns -1 with the sentence if the keeper is of
   another protocol. */
int release_next(const struct remit *r, bool shared, struct link *l,
		 struct frame *f, struct remit_error *err) must_check;

#endif
