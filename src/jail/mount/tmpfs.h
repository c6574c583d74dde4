/*
 * tmpfs: new in-memory file systems with limits, and the one that contains the
 * certificate authorities that code trusts.
 */
#ifndef REMIT_TMPFS_H
#define REMIT_TMPFS_H

#include <stdint.h>

#include "base/own.h"

/* Returns a file system that is not mounted anywhere yet, with nosuid, nodev
   and these MOUNT_ATTR_ bits, or -1 with errno. A size or count of 0 sets no
   limit. */
int tmpfs_new(uint64_t bytes, uint64_t inodes, unsigned attr);

/*
 * The certificate authorities that code in one jail trusts. The proxy sends
 * them to pid 1, which makes them available inside.
 */

/* Called in the proxy: send a memory file, which is read from its beginning. */
int trust_file_send(int to, int file) must_check;
/* Called in pid 1: returns a read-only directory with a copy of that file, not
   mounted anywhere yet, or -1 with errno. */
int trust_file_recv(int from) must_check;

#endif
