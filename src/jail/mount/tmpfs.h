/*
 * tmpfs: a new file system in memory, with caps.
 */
#ifndef REMIT_TMPFS_H
#define REMIT_TMPFS_H

#include <stdint.h>

/* Not yet mounted anywhere, never setuid, without devices and with these
   MOUNT_ATTR_ bits. A size or count of 0 is not set. */
int tmpfs_new(uint64_t bytes, uint64_t inodes, unsigned attr);

#endif
