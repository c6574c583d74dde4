/*
 * io: complete reads and writes of blocking descriptors. An interrupted call is
 * repeated and a short one continued: neither is an error.
 */
#ifndef REMIT_IO_H
#define REMIT_IO_H

#include <sys/types.h>

#include "base/buf.h"

/* Writes all bytes. Returns -1 with errno; then some bytes may have been
   written, for example on a full disk. */
int io_write_all(int fd, const void *bytes, size_t len) must_check;
/* Like io_write_all(), at an offset of a file. */
int io_write_all_at(int fd, const void *bytes, size_t len, off_t at) must_check;

/* One read(2), repeated if it was interrupted. */
ssize_t io_read(int fd, void *to, size_t len) must_check;
/* Reads exactly `len` bytes. Returns -1 with errno; EPIPE at an early end of
   file. */
int io_read_exactly(int fd, void *to, size_t len) must_check;
/* Reads up to the end of file. Returns -1 with errno; EFBIG or ENOMEM as
   buf_add(). */
int io_read_all(int fd, struct buf *out) must_check;

#endif
