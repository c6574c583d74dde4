#include "cli/report/screen.h"

#include <string.h>

#include "base/text.h"

#define ESCAPE 0x1b

static int
show_escaped(struct screen *s, struct buf *out)
{
	for (size_t i = 0; i < s->pending_len; i++)
		if (buf_addf(out, "\\x%02x", (unsigned char)s->pending[i]) < 0)
			return -1;
	s->pending_len = 0;
	return 0;
}

static int
show(struct screen *s, struct buf *out)
{
	size_t n = s->pending_len;

	s->pending_len = 0;
	return buf_add(out, s->pending, n);
}

/* ESC [ digits and semicolons m */
static bool
may_become_colour(const struct screen *s)
{
	for (size_t i = 1; i < s->pending_len; i++) {
		char c = s->pending[i];

		if (i == 1 ? c != '[' : !c || !strchr("0123456789;:", c))
			return false;
	}
	return s->pending_len < sizeof(s->pending) - 1;
}

static int
take_sequence(struct screen *s, char c, struct buf *out)
{
	s->pending[s->pending_len++] = c;
	if (c == 'm' && s->pending_len > 2) {
		s->pending_len--;
		if (may_become_colour(s)) {
			s->pending_len++;
			return show(s, out);
		}
		s->pending_len++;
	}
	return may_become_colour(s) ? 0 : show_escaped(s, out);
}

static bool
is_control(const struct screen *s)
{
	unsigned char c = (unsigned char)s->pending[0];

	/* C1 controls are two bytes in UTF-8. */
	if (s->pending_len == 2)
		return c == 0xc2 && (unsigned char)s->pending[1] < 0xa0;
	return s->pending_len == 1 && c != '\n' && c != '\t' &&
	       (c < 0x20 || c == 0x7f);
}

static int
take(struct screen *s, char c, struct buf *out)
{
	/* A line may end in CR LF; a CR alone would overwrite it. */
	if (s->pending_len && s->pending[0] == '\r') {
		if (c == '\n')
			s->pending_len = 0;
		else if (show_escaped(s, out) < 0)
			return -1;
	}
	if (s->pending_len && s->pending[0] == ESCAPE)
		return take_sequence(s, c, out);
	s->pending[s->pending_len++] = c;
	if ((c == ESCAPE || c == '\r') && s->pending_len == 1)
		return 0;
	if (text_is_cut(s->pending, s->pending_len))
		return 0;
	if (text_valid_prefix(s->pending, s->pending_len) == s->pending_len)
		return is_control(s) ? show_escaped(s, out) : show(s, out);
	if (s->pending_len == 1)
		return show_escaped(s, out);
	/* What came before was cut off; this byte may begin something new. */
	s->pending_len--;
	if (show_escaped(s, out) < 0)
		return -1;
	return take(s, c, out);
}

int
screen_filter(struct screen *s, const char *bytes, size_t len, struct buf *out)
{
	if (s->raw)
		return buf_add(out, bytes, len);
	for (size_t i = 0; i < len; i++)
		if (take(s, bytes[i], out) < 0)
			return -1;
	return 0;
}

int
screen_end(struct screen *s, struct buf *out)
{
	return show_escaped(s, out);
}
