/*
 * call_head: what goes before the bytes of a tool call or of its answer: which
 * call it is, one word about it, and how many bytes there are.
 */
#ifndef REMIT_CALL_HEAD_H
#define REMIT_CALL_HEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct call_head {
	uint64_t id;
	const char *key;  /* "name" of a call, "outcome" of an answer */
	const char *word; /* the tool; "ok", "error" or "denied" */
	uint64_t bytes;
};

/* -1 with errno as buf_add(). */
int call_head_write(struct buf *out, const struct call_head *h) must_check;
/* The word is in the payload. */
int call_head_read(struct call_head *h, const char *key, const char *payload,
		   size_t len, struct remit_error *err) must_check;

#endif
