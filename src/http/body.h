/*
 * body: parses the body of a request, as its head announced it, from pieces of
 * any size (RFC 9112, 6 and 7). It is strict: chunk extensions and trailers are
 * rejected, since clients do not need them and parsers disagree on them.
 */
#ifndef REMIT_BODY_H
#define REMIT_BODY_H

#include <stdint.h>

#include "base/buf.h"

enum body_answer { BODY_MORE, BODY_WHOLE, BODY_BAD, BODY_LARGE };

enum body_step {
	CHUNK_SIZE,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_END_CR,
	CHUNK_END_LF,
	PLAIN_DATA,
	BODY_DONE,
};

struct body {
	enum body_step step;
	uint64_t left;	 /* of the chunk, or of the whole body */
	unsigned digits; /* of the chunk's size that were read */
	struct buf data;
};

/* Expects a chunked body, or one of `length` bytes. `max` limits how many bytes
   are stored. */
void body_begin(struct body *b, bool is_chunked, uint64_t length, size_t max);
/* Parses the next bytes. Sets *used to how many of them belong to the body; the
   rest is the next request. Returns BODY_LARGE if the body exceeds its
   limit. */
enum body_answer body_feed(struct body *b, const char *bytes, size_t len,
			   size_t *used);
void body_free(struct body *b);

#endif
