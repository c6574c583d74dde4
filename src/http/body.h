/*
 * body: the body of a request, as its head announced it, put together from
 * pieces (RFC 9112, 6 and 7). Strict: no chunk extensions and no trailers,
 * which nobody needs and readers disagree about.
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
	uint64_t left;	 /* of the chunk, or of all */
	unsigned digits; /* of the chunk's size */
	struct buf data;
};

/* `max`: bytes of the body. */
void body_begin(struct body *b, bool is_chunked, uint64_t length, size_t max);
/* *used: how many of the bytes were the body's. */
enum body_answer body_feed(struct body *b, const char *bytes, size_t len,
			   size_t *used);
void body_free(struct body *b);

#endif
