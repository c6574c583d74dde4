/*
 * beneath: open what lies below a directory that others may have filled: by no
 * link, into no other mount, and without waiting for anybody.
 */
#ifndef REMIT_BENEATH_H
#define REMIT_BENEATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Flags as of open(2). A path that is or leads through a link fails with
   ELOOP, but for O_PATH, which opens the link itself. */
int beneath_open(int directory, const char *path, uint64_t flags);

/* The directory in which the last name of a relative path is, made with `mode`
   as far as it is missing, and opened by O_PATH; *name is that last name.
   Unlike beneath_open() it goes into mounts, which a root has. -1 with errno.
 */
int beneath_make_parent(int directory, const char *path, mode_t mode,
			const char **name);

/* "." and ".." of readdir(3). */
bool beneath_is_dots(const char *name);

#endif
