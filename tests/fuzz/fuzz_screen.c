/*
 * Whatever a program writes, only text, tab, newline and colour codes reach
 * the terminal. The first byte of the input is the size of its pieces.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cli/report/screen.h"
#include "fuzz.h"
#include "visible.h"

static void
filter_in_pieces(struct buf *out, const char *bytes, size_t len, size_t step)
{
	struct screen s = { 0 };

	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;

		must(screen_filter(&s, bytes + at, n, out) == 0);
		must(s.pending_len < sizeof(s.pending));
	}
	must(screen_end(&s, out) == 0 && s.pending_len == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(buf) struct buf whole = BUF_INIT(4 * size + 1);
	own(buf) struct buf cut = BUF_INIT(4 * size + 1);
	const char *bytes = (const char *)data + 1;
	size_t len = size - 1;

	if (!size)
		return 0;
	filter_in_pieces(&whole, bytes, len, len + 1);
	filter_in_pieces(&cut, bytes, len, data[0] ? data[0] : 1);
	must(visible_until(buf_text(&whole), whole.len) == whole.len);
	must(visible_until(buf_text(&cut), cut.len) == cut.len);
	must(whole.len == cut.len &&
	     !memcmp(buf_text(&whole), buf_text(&cut), cut.len));
	return 0;
}
