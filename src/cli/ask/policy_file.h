/*
 * policy_file: a policy document on disk that is to grant one thing more.
 */
#ifndef REMIT_POLICY_FILE_H
#define REMIT_POLICY_FILE_H

#include "policy/fields/field.h"

/*
 * Write the grant of a flag with this text into the file. The new document is
 * complete on disk before it takes the name of the old one, with its mode and
 * owner; until then, and if anything fails, the old one is untouched. A file
 * that is a link, or has a second name, is refused: it would come apart.
 */
int policy_file_grant(const char *path, const struct field *f, const char *text,
		      struct remit_error *err) must_check;

#endif
