/*
 * policy_edit: a policy document that grants one thing more. All else in its
 * text stays as it was: order, blanks, how numbers are written.
 */
#ifndef REMIT_POLICY_EDIT_H
#define REMIT_POLICY_EDIT_H

#include "base/buf.h"
#include "policy/fields/field.h"

/*
 * Write the document with a switch turned on, or an entry added to a list, as
 * a flag with this text would do it. What comes out is read again: it differs
 * from the old policy by that field only, or nothing is written.
 */
int policy_edit_grant(const struct buf *document, const struct field *f,
		      const char *text, struct buf *out,
		      struct remit_error *err) must_check;

#endif
