/*
 * display_head: what goes before the bytes of a value or a display: the MIME
 * type and length of each part, in order, and what was left out.
 *
 *	kind = value | display, truncated = yes (the text was cut),
 *	mime, bytes (a part), ..., left_out, reason (a part that is not there),
 *...
 */
#ifndef REMIT_DISPLAY_HEAD_H
#define REMIT_DISPLAY_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define DISPLAY_PARTS 16

enum display_kind {
	DISPLAY_VALUE, /* of the last expression */
	DISPLAY_SHOWN,
};

struct display_part {
	const char *mime; /* in the payload */
	uint64_t bytes;
};

struct display_gap {
	const char *mime, *reason; /* in the payload */
};

struct display_head {
	enum display_kind kind;
	bool truncated;
	size_t part_count, gap_count;
	struct display_part parts[DISPLAY_PARTS];
	struct display_gap gaps[DISPLAY_PARTS];
	uint64_t total_bytes;
};

/* A MIME type is a plain word, a slash and a plain word: anything else, or a
   part twice, breaks the protocol. */
int display_head_read(struct display_head *h, const char *payload, size_t len,
		      struct remit_error *err) must_check;

#endif
