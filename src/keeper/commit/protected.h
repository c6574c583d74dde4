/*
 * protected: names in a directory of the host that tools execute or obey. Code
 * in a jail must not create them, because they would take effect later, outside
 * the jail.
 */
#ifndef REMIT_PROTECTED_H
#define REMIT_PROTECTED_H

#include <stdbool.h>

#include "base/list.h"

/* Returns true if any name in the path is protected and no pattern of `allowed`
   matches the path. */
bool protected_path(const char *path, const struct list *allowed);
/* Like protected_path(), but a directory is not protected if it may contain
   something that a pattern of `allowed` matches. */
bool protected_directory(const char *path, const struct list *allowed);
/* Returns true if a pattern of `allowed` matches the path, or could match
   something below it if it is a directory. */
bool protected_is_named(const char *path, bool directory,
			const struct list *allowed);

/*
 * Returns true if `name`, in the directories a and b together (-1: missing), is
 * a git repository without .git: git obeys its config in every directory below,
 * as it does with .git. Only names are checked, because their types could
 * change later.
 */
bool protected_is_repository(int a, int b, const char *name);

#endif
