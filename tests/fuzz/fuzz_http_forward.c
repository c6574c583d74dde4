/*
 * What is forwarded of a request, unless it has too many headers, has the same
 * host and body, names no secret, and asks to close or to upgrade the
 * connection. What is forwarded of a reply does not depend on how its bytes are
 * cut into pieces.
 *
 * The first byte says whether the request asks for another protocol, and the
 * size of the pieces.
 */
#include <string.h>

#include "fuzz.h"
#include "http/forward.h"

#define PIECE_MAX 127

/* Whether it may have too many headers, or words in one. */
static bool
has_many(const char *bytes, const struct http_head *h)
{
	size_t lines = 0, commas = 0;

	for (size_t i = 0; i < h->len; i++) {
		lines += bytes[i] == '\n';
		commas += bytes[i] == ',';
	}
	return lines > FORWARD_HEADERS_MAX ||
	       lines + commas > FORWARD_WORDS_MAX;
}

static void
check_request(const char *bytes, size_t size)
{
	static const char *const secrets[] = { "x-secret", NULL };
	own(buf) struct buf out = BUF_INIT(2 * HEAD_MAX);
	struct http_head h, again;
	bool upgrades;

	if (http_head_read(bytes, size, &h) != HEAD_NAME)
		return;
	if (http_forward_request(&out, bytes, &h, secrets, &upgrades) < 0) {
		must(has_many(bytes, &h));
		return;
	}
	if (out.len > HEAD_MAX)
		return;
	must(http_head_read(out.data, out.len, &again) == HEAD_NAME);
	must(again.len == out.len && !strcmp(h.host, again.host) &&
	     h.port == again.port && h.is_chunked == again.is_chunked &&
	     h.body_bytes == again.body_bytes && h.is_old == again.is_old);
	must(memmem(out.data, out.len,
		    upgrades ? "Upgrade\r\n\r\n" : "close\r\n\r\n",
		    upgrades ? 11 : 9) ==
	     out.data + out.len - (upgrades ? 11 : 9));
	must(!strcasestr(out.data, "\nx-secret:"));
}

/* Forwards a reply as it would arrive. Sets *status to 0 unless it was
   forwarded. */
static enum http_forward
forward(const char *bytes, size_t size, size_t step, bool upgrades,
	struct buf *out, int *status)
{
	own(buf) struct buf in = BUF_INIT(HEAD_MAX + PIECE_MAX);
	enum http_forward f = FORWARD_MORE;
	size_t at = 0;

	while (at < size && f == FORWARD_MORE) {
		size_t n = size - at < step ? size - at : step;

		must(buf_add(&in, bytes + at, n) == 0);
		at += n;
		f = http_forward_reply(&in, out, upgrades, status);
	}
	if (f == FORWARD_REPLY || f == FORWARD_SWITCH)
		must(!in.len && buf_add(out, bytes + at, size - at) == 0);
	else
		*status = 0;
	must(f != FORWARD_SWITCH || (upgrades && *status == 101));
	must(f != FORWARD_REPLY || *status >= 200);
	return f;
}

static void
check_reply(const char *bytes, size_t size, size_t step, bool upgrades)
{
	own(buf) struct buf one = BUF_INIT(1024 * 1024), all = one;
	int status_one = 0, status_all = 0;
	enum http_forward a =
		forward(bytes, size, 1, upgrades, &one, &status_one);
	enum http_forward b =
		forward(bytes, size, step, upgrades, &all, &status_all);

	must(a == b && status_one == status_all);
	if (a != FORWARD_BAD)
		must(one.len == all.len &&
		     (!one.len || !memcmp(one.data, all.data, one.len)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;

	if (!size)
		return 0;
	size--;
	check_request(bytes, size);
	/* A longer one is cut at a place that depends on the pieces. */
	if (size < HEAD_MAX)
		check_reply(bytes, size, 1 + data[0] % PIECE_MAX,
			    data[0] & 0x80);
	return 0;
}
