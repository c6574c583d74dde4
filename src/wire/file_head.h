/*
 * file_head: what goes before the bytes of a file: where it is, and how many
 * bytes there are.
 */
#ifndef REMIT_FILE_HEAD_H
#define REMIT_FILE_HEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct file_head {
	const char *path; /* in the payload */
	uint64_t size_bytes;
};

/* -1 with errno as buf_add(). */
int file_head_write(struct buf *out, const struct file_head *h) must_check;
int file_head_read(struct file_head *h, const char *payload, size_t len,
		   struct remit_error *err) must_check;

#endif
