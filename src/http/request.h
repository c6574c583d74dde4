/*
 * http_request: rewrites the head of a request that is the only one on its
 * connection, and finds the end of its body as the head defines it.
 *
 * The new head asks the server to close the connection afterwards, so that
 * whatever the server considers the end of this request, it reads no second one
 * (RFC 9112, 9.6).
 */
#ifndef REMIT_HTTP_REQUEST_H
#define REMIT_HTTP_REQUEST_H

#include "http/head.h"

/* How many bytes the new head may be longer than the old. */
#define HTTP_HEADER_NAME  64
#define HTTP_HEADER_VALUE 4096
#define HTTP_REQUEST_MORE (HTTP_HEADER_NAME + HTTP_HEADER_VALUE + 64)

/* A header that replaces the one that the code sent. */
struct http_header {
	char name[HTTP_HEADER_NAME];
	char value[HTTP_HEADER_VALUE];
};

/*
 * Writes the head at `bytes` with this target, without the headers that are
 * about the connection, and with the header `put` (or NULL) added. Returns the
 * length. `out` must have space for the old head and HTTP_REQUEST_MORE bytes.
 */
size_t http_request_write(char *out, const char *bytes,
			  const struct http_head *h, struct http_text target,
			  const struct http_header *put);

enum http_body_state {
	BODY_OVER,
	BODY_BYTES, /* `left` bytes follow */
	BODY_SIZE,  /* in the line with a chunk's size */
	BODY_CHUNK,
	BODY_CHUNK_END,
	BODY_TRAILER, /* the empty line after the last chunk */
};

struct http_body {
	enum http_body_state state;
	uint64_t left;
	unsigned at; /* position in the line */
};

void http_body_begin(struct http_body *b, const struct http_head *h);
/* Parses bytes of the body. Returns -1 if they are malformed, or if some of
   them come after the end of the body. */
int http_body_feed(struct http_body *b, const char *bytes,
		   size_t len) must_check;

#endif
