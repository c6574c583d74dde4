#include "cli/report/screen.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* ---- a program's output ---- */

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
show_pending(struct screen *s, struct buf *out)
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
feed_sequence(struct screen *s, char c, struct buf *out)
{
	s->pending[s->pending_len++] = c;
	if (c == 'm' && s->pending_len > 2) {
		s->pending_len--;
		if (may_become_colour(s)) {
			s->pending_len++;
			return show_pending(s, out);
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
feed_byte(struct screen *s, char c, struct buf *out)
{
	/* A line may end in CR LF; a CR alone would overwrite it. */
	if (s->pending_len && s->pending[0] == '\r') {
		if (c == '\n')
			s->pending_len = 0;
		else if (show_escaped(s, out) < 0)
			return -1;
	}
	if (s->pending_len && s->pending[0] == ESCAPE)
		return feed_sequence(s, c, out);
	s->pending[s->pending_len++] = c;
	if ((c == ESCAPE || c == '\r') && s->pending_len == 1)
		return 0;
	if (text_is_cut(s->pending, s->pending_len))
		return 0;
	if (text_valid_prefix(s->pending, s->pending_len) == s->pending_len)
		return is_control(s) ? show_escaped(s, out)
				     : show_pending(s, out);
	if (s->pending_len == 1)
		return show_escaped(s, out);
	/* The character before was cut off; this byte may begin a new one. */
	s->pending_len--;
	if (show_escaped(s, out) < 0)
		return -1;
	return feed_byte(s, c, out);
}

int
screen_filter(struct screen *s, const char *bytes, size_t len, struct buf *out)
{
	if (s->raw)
		return buf_add(out, bytes, len);
	for (size_t i = 0; i < len; i++)
		if (feed_byte(s, bytes[i], out) < 0)
			return -1;
	return 0;
}

int
screen_end(struct screen *s, struct buf *out)
{
	return show_escaped(s, out);
}

/* ---- foreign text within a line of Remit ---- */

/* Characters that are invisible, look like others, or change the text around
   them: controls, formats, spaces, fillers, marks, private use (Unicode's
   categories C, M and Z, except those of a single script). */
static const struct range {
	uint32_t first, last;
} unseen[] = {
	{ 0x0000, 0x001f },   { 0x007f, 0x00a0 },   { 0x00ad, 0x00ad },
	{ 0x0300, 0x036f },   { 0x0600, 0x0605 },   { 0x061c, 0x061c },
	{ 0x06dd, 0x06dd },   { 0x070f, 0x070f },   { 0x0890, 0x0891 },
	{ 0x08e2, 0x08e2 },   { 0x115f, 0x1160 },   { 0x1680, 0x1680 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff },   { 0x2000, 0x200f },   { 0x2028, 0x202f },
	{ 0x205f, 0x206f },   { 0x20d0, 0x20ff },   { 0x2800, 0x2800 },
	{ 0x3000, 0x3000 },   { 0x3164, 0x3164 },   { 0xd800, 0xf8ff },
	{ 0xfe00, 0xfe0f },   { 0xfe20, 0xfe2f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0xfffe, 0xffff },
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1345f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d159, 0x1d182 }, { 0xe0000, 0x10ffff },
};

static bool
is_unseen(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(unseen); i++)
		if (c >= unseen[i].first && c <= unseen[i].last)
			return true;
	return false;
}

/* Returns the number of bytes of the character at `s`; 0 if it is not UTF-8. */
static size_t
character_length(const char *s)
{
	size_t left = strnlen(s, 4);

	for (size_t n = 1; n <= left; n++)
		if (text_valid_prefix(s, n) == n)
			return n;
	return 0;
}

static uint32_t
code_point(const char *s, size_t n)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)s[0] & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

static int
add_one(struct buf *out, const char *s, size_t n, const char *quoted)
{
	uint32_t c = n ? code_point(s, n) : (unsigned char)*s;

	if (!n || (n == 1 && is_unseen(c)))
		return buf_addf(out, "\\x%02x", c);
	if (is_unseen(c))
		return buf_addf(out, "\\u{%x}", c);
	if (n == 1 && strchr(quoted, *s))
		return buf_addf(out, "\\%c", (int)c);
	return buf_add(out, s, n);
}

static int
add_all(struct buf *out, const char *text, size_t max, const char *quoted)
{
	bool after_blank = false;

	for (; *text && max; max--) {
		size_t n = character_length(text);
		bool is_blank = *text == ' ';

		/* Many blanks fill the line of a terminal, and the text after
		   them would look like a line of Remit. */
		if (is_blank && after_blank ? buf_addf(out, "\\x20") < 0
					    : add_one(out, text, n, quoted) < 0)
			return -1;
		after_blank = is_blank;
		text += n ? n : 1;
	}
	return *text ? buf_add(out, "...", 3) : 0;
}

int
line_text_add(struct buf *out, const char *text, size_t max)
{
	return add_all(out, text, max, "\\\"");
}

int
line_text_message(struct buf *out, const char *text, size_t max)
{
	return add_all(out, text, max, "");
}
