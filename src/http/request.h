/*
 * http_request: a request that is the only one of its connection. Its head is
 * written anew, and its body ends where the head says.
 *
 * A server closes behind it, since it is told to: whatever it takes for the
 * end of this request, it reads no other (RFC 9112, 9.6).
 */
#ifndef REMIT_HTTP_REQUEST_H
#define REMIT_HTTP_REQUEST_H

#include "http/head.h"

/* What the new head has more than the old, at most. */
#define HTTP_HEADER_NAME  64
#define HTTP_HEADER_VALUE 4096
#define HTTP_REQUEST_MORE (HTTP_HEADER_NAME + HTTP_HEADER_VALUE + 64)

/* A header that takes the place of the code's own. */
struct http_header {
	char name[HTTP_HEADER_NAME];
	char value[HTTP_HEADER_VALUE];
};

/*
 * The head at `bytes` with this target, without headers about the connection,
 * and with the header `put` (or NULL). Returns the length; there must be room
 * for that of the old one and HTTP_REQUEST_MORE.
 */
size_t http_request_write(char *out, const char *bytes,
			  const struct http_head *h, struct http_text target,
			  const struct http_header *put);

enum http_body_state {
	BODY_OVER,
	BODY_BYTES, /* so many are left */
	BODY_SIZE,  /* in the line before a chunk */
	BODY_CHUNK,
	BODY_CHUNK_END,
	BODY_TRAILER, /* the empty line behind the last chunk */
};

struct http_body {
	enum http_body_state state;
	uint64_t left;
	unsigned at; /* in the line */
};

void http_body_begin(struct http_body *b, const struct http_head *h);
/* -1 if these bytes are not all its own. */
int http_body_feed(struct http_body *b, const char *bytes,
		   size_t len) must_check;

#endif
