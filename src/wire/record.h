/*
 * record: the payload of small documents: key NUL value NUL, again and again.
 * So simple that the keeper can read what the jail sends without a parser. And
 * the heads made of records that go before the bytes of files, tool calls and
 * displays.
 */
#ifndef REMIT_RECORD_H
#define REMIT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct record {
	const char *key;
	const char *value; /* both end in NUL inside the payload */
};

/* -1 with errno as buf_add(). */
int record_add(struct buf *b, const char *key, const char *value) must_check;

/* Walk: *at starts at 0. False at the end. A payload that does not end in NUL
   breaks the protocol: see record_check(). */
bool record_next(const char *payload, size_t len, size_t *at,
		 struct record *out);
int record_check(const char *payload, size_t len,
		 struct remit_error *err) must_check;

/* ---- before the bytes of a file: where it is, and how many there are ---- */

struct file_head {
	const char *path; /* in the payload */
	uint64_t size_bytes;
};

/* -1 with errno as buf_add(). */
int file_head_write(struct buf *out, const struct file_head *h) must_check;
int file_head_read(struct file_head *h, const char *payload, size_t len,
		   struct remit_error *err) must_check;

/* ---- before the bytes of a tool call or of its answer: which call it is, one
   word about it, and how many there are ---- */

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

/* ---- before the bytes of a value or a display: the MIME type and length of
 * each part, in order, and what was left out ----
 *
 *	kind = value | display, truncated = yes (the text was cut),
 *	mime, bytes (a part), ..., left_out, reason (a part that is not there),
 *...
 */

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
