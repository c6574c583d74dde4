/*
 * protected: names in a directory of the host that tools execute or obey. Code
 * in a jail must not plant them: they would act later, outside.
 */
#ifndef REMIT_PROTECTED_H
#define REMIT_PROTECTED_H

#include <stdbool.h>

#include "base/list.h"

/* Whether any name of this path is protected and no pattern of `allowed`
   matches the path. */
bool protected_path(const char *path, const struct list *allowed);
/* The same of a directory that something allowed may lie in. */
bool protected_directory(const char *path, const struct list *allowed);
/* Whether a pattern of `allowed` matches the path, or may match what lies in
   it, if it is a directory. */
bool protected_is_named(const char *path, bool directory,
			const struct list *allowed);

/*
 * Whether `name`, in the directories a and b together (-1: not there), is a git
 * repository under plain names: git obeys the config in it wherever somebody
 * stands below, as it does that of .git. Needs no more than the names: what
 * they are could change later.
 */
bool protected_is_repository(int a, int b, const char *name);

#endif
