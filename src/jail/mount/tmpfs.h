/*
 * tmpfs: new file systems in memory, with caps, and the one that has the
 * authorities that code trusts.
 */
#ifndef REMIT_TMPFS_H
#define REMIT_TMPFS_H

#include <stdint.h>

#include "base/own.h"

/* Not yet mounted anywhere, never setuid, without devices and with these
   MOUNT_ATTR_ bits. A size or count of 0 is not set. */
int tmpfs_new(uint64_t bytes, uint64_t inodes, unsigned attr);

/*
 * The certificate authorities that code in one jail trusts, from its proxy to
 * pid 1, which gives them a place inside.
 */

/* In the proxy: a file in memory, from its beginning. */
int trust_file_send(int to, int file) must_check;
/* In pid 1: a directory with a copy of it that nobody can change, not yet
   mounted anywhere. */
int trust_file_recv(int from) must_check;

#endif
