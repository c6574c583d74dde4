/*
 * record: the payload of small documents, as pairs of key NUL value NUL. The
 * format is so simple that the keeper can read what the jail sends without a
 * parser. Also the heads, made of records, that precede the bytes of files,
 * tool calls and displays.
 */
#ifndef REMIT_RECORD_H
#define REMIT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct record {
	const char *key;
	const char *value; /* both point into the payload and end with NUL */
};

/* Returns -1 with errno set, as buf_add() does. */
int record_add(struct buf *b, const char *key, const char *value) must_check;

/* Iterates over the records; *at starts at 0. Returns false at the end. Call
   record_check() first: it returns -1 if the payload does not consist of
   complete pairs. */
bool record_next(const char *payload, size_t len, size_t *at,
		 struct record *out);
int record_check(const char *payload, size_t len,
		 struct remit_error *err) must_check;

/* ---- the head that precedes the bytes of a file: path and size ---- */

struct file_head {
	const char *path; /* points into the payload */
	uint64_t size_bytes;
};

/* Returns -1 with errno set, as buf_add() does. */
int file_head_write(struct buf *out, const struct file_head *h) must_check;
int file_head_read(struct file_head *h, const char *payload, size_t len,
		   struct remit_error *err) must_check;

/* ---- the head that precedes the bytes of a tool call or of its reply: the
   number of the call, one word about it, and the number of bytes ---- */

struct call_head {
	uint64_t id;
	const char *key;  /* "name" in a call, "outcome" in a reply */
	const char *word; /* the tool's name; or "ok", "error" or "denied" */
	uint64_t bytes;
};

/* Returns -1 with errno set, as buf_add() does. */
int call_head_write(struct buf *out, const struct call_head *h) must_check;
/* Returns -1 if the payload is malformed. The word points into the payload. */
int call_head_read(struct call_head *h, const char *key, const char *payload,
		   size_t len, struct remit_error *err) must_check;

/*
 * ---- the head that precedes the bytes of a value or a display ----
 *
 * It lists the MIME type and length of each part, in order, and the parts that
 * were left out. Its records are
 *
 *	kind = value or display
 *	truncated = yes, if the text was cut
 *	mime, bytes: one pair for each part
 *	left_out, reason: one pair for each part that is missing
 */

#define DISPLAY_PARTS 16

enum display_kind {
	DISPLAY_VALUE, /* of the cell's last expression */
	DISPLAY_SHOWN,
};

struct display_part {
	const char *mime; /* points into the payload */
	uint64_t bytes;
};

struct display_gap {
	const char *mime, *reason; /* point into the payload */
};

struct display_head {
	enum display_kind kind;
	bool truncated;
	size_t part_count, gap_count;
	struct display_part parts[DISPLAY_PARTS];
	struct display_gap gaps[DISPLAY_PARTS];
	uint64_t total_bytes;
};

/* Returns -1 if the payload is malformed. A MIME type must be a plain word, a
   slash and a plain word, and may occur only once. */
int display_head_read(struct display_head *h, const char *payload, size_t len,
		      struct remit_error *err) must_check;

#endif
