/*
 * beneath: open paths below a directory with untrusted contents, without
 * following links, crossing mounts or waiting for another process.
 */
#ifndef REMIT_BENEATH_H
#define REMIT_BENEATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a path with the flags of open(2). A path that contains a symbolic link
   fails with ELOOP; with O_PATH, a link as the last component is opened
   itself. */
int beneath_open(int directory, const char *path, uint64_t flags);

/* Opens the parent directory of a relative path with O_PATH. Creates missing
   directories with `mode`. *name is the last component of the path. Unlike
   beneath_open() this enters mounts, which the jail's root contains. Returns -1
   with errno. */
int beneath_make_parent(int directory, const char *path, mode_t mode,
			const char **name);

/* Whether a name of readdir(3) is "." or "..". */
bool beneath_is_dots(const char *name);

#endif
