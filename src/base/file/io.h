/*
 * io: whole reads and writes of descriptors that block. An interrupted call is
 * made again, and a short one goes on where it ended: neither is an error.
 */
#ifndef REMIT_IO_H
#define REMIT_IO_H

#include <sys/types.h>

#include "base/buf.h"

/* All of them. -1 with errno; then some may have been written, as on a full
   disk. */
int io_write_all(int fd, const void *bytes, size_t len) must_check;
/* The same at a place of a file. */
int io_write_all_at(int fd, const void *bytes, size_t len, off_t at) must_check;

/* One read, made again if it was interrupted. */
ssize_t io_read(int fd, void *to, size_t len) must_check;
/* Exactly so many. -1 with errno; EPIPE if the end comes before. */
int io_read_exactly(int fd, void *to, size_t len) must_check;
/* Up to the end. -1 with errno; EFBIG or ENOMEM as buf_add(). */
int io_read_all(int fd, struct buf *out) must_check;

#endif
