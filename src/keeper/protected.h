/*
 * protected: names in a folder of the host that tools execute or obey. Code in
 * a jail must not plant them: they would act later, outside.
 */
#ifndef REMIT_PROTECTED_H
#define REMIT_PROTECTED_H

#include <stdbool.h>

#include "list.h"

/* Whether any name of this path is protected and no pattern of `allowed`
   matches the path. */
bool protected_path(const char *path, const struct list *allowed);
/* The same of a folder that something allowed may lie in. */
bool protected_folder(const char *path, const struct list *allowed);

#endif
