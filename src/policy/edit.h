/*
 * policy_edit: adds one grant to the text of a policy document. The rest of the
 * text is unchanged: the order, the blanks and the form of numbers.
 */
#ifndef REMIT_POLICY_EDIT_H
#define REMIT_POLICY_EDIT_H

#include "base/buf.h"
#include "policy/fields/field.h"

/*
 * Appends to *out the document with a switch turned on or an entry added to a
 * list, as a flag with this text would do. The new document is parsed again for
 * a check: if it differs from the old policy in anything but that field, this
 * fails.
 */
int policy_edit_grant(const struct buf *document, const struct field *f,
		      const char *text, struct buf *out,
		      struct remit_error *err) must_check;

#endif
