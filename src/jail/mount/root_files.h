/*
 * root_files: the links, small files and empty directories in the root of a
 * jail.
 */
#ifndef REMIT_ROOT_FILES_H
#define REMIT_ROOT_FILES_H

#include "jail/blueprint.h"

/* Opens the directory above `path` (absolute) under the new root, and makes it
   if necessary. Never follows a link: until pivot_root an absolute one would
   lead to the host. */
int root_files_parent(int root, const char *path, const char **name);
/* Makes a link, unless the name is taken. */
int root_files_link(int root, const char *path, const char *target);
/* Makes everything that a plan wants. *detail is the number of the
   interpreter's link that failed. */
int root_files_make(const struct blueprint *b, uint32_t *detail);

#endif
