/*
 * beneath: open what lies below a folder that others may have filled: by no
 * link, into no other mount, and without waiting for anybody.
 */
#ifndef REMIT_BENEATH_H
#define REMIT_BENEATH_H

#include <stdbool.h>
#include <stdint.h>

/* Flags as of open(2). A path that is or leads through a link fails with
   ELOOP, but for O_PATH, which opens the link itself. */
int beneath_open(int folder, const char *path, uint64_t flags);

/* "." and ".." of readdir(3). */
bool beneath_is_dots(const char *name);

#endif
