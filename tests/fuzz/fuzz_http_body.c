/*
 * A request's body ends at the same byte, however its bytes are cut into
 * pieces. The first byte is its length; 0 means chunks.
 */
#include "fuzz.h"
#include "http/request.h"
#include "names.h"

/* Feeds the bytes in pieces of `step`. Returns how many belong to the body, or
   SIZE_MAX if they are not one. */
static size_t
feed_body(const struct http_head *h, const char *bytes, size_t size,
	  size_t step, struct http_body *b)
{
	size_t at = 0;

	http_body_begin(b, h);
	while (at < size) {
		size_t n = size - at < step ? size - at : step;

		if (http_body_feed(b, bytes + at, n) < 0)
			return SIZE_MAX;
		at += n;
	}
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;
	struct http_body one, all;
	struct http_head h = { 0 };

	if (!size)
		return 0;
	size--;
	h.is_chunked = !data[0];
	h.body_bytes = data[0];
	must(feed_body(&h, bytes, size, 1, &one) ==
	     feed_body(&h, bytes, size, size + 1, &all));
	if (!h.is_chunked)
		must((feed_body(&h, bytes, size, 3, &all) == SIZE_MAX) ==
		     (size > h.body_bytes));
	/* No byte is accepted after the end. */
	if (feed_body(&h, bytes, size, 7, &all) != SIZE_MAX &&
	    all.state == BODY_OVER)
		must(http_body_feed(&all, "G", 1) < 0);
	return 0;
}
