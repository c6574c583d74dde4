#include "cli/repl/line_edit.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define ESCAPE	     '\033'
#define CTRL(letter) ((letter) & 0x1f)
#define INDENT	     "    "

/* ---- characters ---- */

static bool
is_continuation(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

static size_t
next_char(const struct buf *b, size_t at)
{
	if (at < b->len)
		at++;
	while (at < b->len && is_continuation(b->data[at]))
		at++;
	return at;
}

static size_t
last_char(const struct buf *b, size_t at)
{
	if (at)
		at--;
	while (at && is_continuation(b->data[at]))
		at--;
	return at;
}

static uint32_t
code_point(const char *c, size_t len)
{
	uint32_t point = (unsigned char)*c;

	if (len > 1)
		point &= 0x7Fu >> len;
	for (size_t i = 1; i < len; i++)
		point = point << 6 | ((unsigned char)c[i] & 0x3F);
	return point;
}

/* How many columns of a terminal a character occupies. */
static unsigned
width_of(const char *c, size_t len)
{
	static const struct {
		uint32_t first, last;
		unsigned width;
	} ranges[] = {
		{ 0x0300, 0x036F, 0 },	 { 0x200B, 0x200F, 0 },
		{ 0x1100, 0x115F, 2 },	 { 0x2E80, 0xA4CF, 2 },
		{ 0xAC00, 0xD7A3, 2 },	 { 0xF900, 0xFAFF, 2 },
		{ 0xFE00, 0xFE0F, 0 },	 { 0xFE30, 0xFE6F, 2 },
		{ 0xFF00, 0xFF60, 2 },	 { 0xFFE0, 0xFFE6, 2 },
		{ 0x1F300, 0x1FAFF, 2 }, { 0x20000, 0x3FFFD, 2 },
	};
	uint32_t point = code_point(c, len);

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return ranges[i].width;
	return 1;
}

/* ---- changes ---- */

static void
edit_erase(struct line_edit *e, size_t from, size_t to)
{
	struct buf *b = &e->text;

	if (to <= from)
		return;
	memmove(b->data + from, b->data + to, b->len - to + 1);
	b->len -= to - from;
	e->at = from;
}

static void
edit_insert(struct line_edit *e, const char *bytes, size_t len)
{
	struct buf *b = &e->text;
	size_t tail = b->len - e->at;

	if (buf_add(b, bytes, len) < 0)
		return; /* the line is full */
	memmove(b->data + e->at + len, b->data + e->at, tail);
	memcpy(b->data + e->at, bytes, len);
	e->at += len;
}

static void
edit_set(struct line_edit *e, const char *text)
{
	e->text.len = 0;
	e->at = 0;
	edit_insert(e, text, strlen(text));
}

static void
edit_show_history(struct line_edit *e, size_t at)
{
	if (at > e->history.count || at == e->shown)
		return;
	if (e->shown == e->history.count) {
		e->own.len = 0;
		if (buf_add(&e->own, buf_text(&e->text), e->text.len) < 0)
			return;
	}
	e->shown = at;
	if (at < e->history.count) {
		edit_set(e, e->history.items[at]);
	} else if (e->own.len) {
		e->own.data[e->own.len] = '\0';
		edit_set(e, e->own.data);
	} else {
		edit_set(e, "");
	}
}

static void
edit_erase_word(struct line_edit *e)
{
	size_t from = e->at;

	while (from && e->text.data[from - 1] == ' ')
		from--;
	while (from && e->text.data[from - 1] != ' ')
		from--;
	edit_erase(e, from, e->at);
}

/* ---- keys ---- */

enum key {
	KEY_NONE,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_UP,
	KEY_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_DELETE,
};

/* What terminals send for keys, after ESC. */
static const struct {
	const char *sequence;
	enum key key;
} keys[] = {
	{ "[A", KEY_UP },    { "[B", KEY_DOWN },    { "[C", KEY_RIGHT },
	{ "[D", KEY_LEFT },  { "[H", KEY_HOME },    { "[F", KEY_END },
	{ "OA", KEY_UP },    { "OB", KEY_DOWN },    { "OC", KEY_RIGHT },
	{ "OD", KEY_LEFT },  { "OH", KEY_HOME },    { "OF", KEY_END },
	{ "[1~", KEY_HOME }, { "[3~", KEY_DELETE }, { "[4~", KEY_END },
	{ "[7~", KEY_HOME }, { "[8~", KEY_END },
};

static void
press_key(struct line_edit *e, enum key key)
{
	switch (key) {
	case KEY_LEFT:
		e->at = last_char(&e->text, e->at);
		break;
	case KEY_RIGHT:
		e->at = next_char(&e->text, e->at);
		break;
	case KEY_UP:
		edit_show_history(e, e->shown ? e->shown - 1 : 0);
		break;
	case KEY_DOWN:
		edit_show_history(e, e->shown + 1);
		break;
	case KEY_HOME:
		e->at = 0;
		break;
	case KEY_END:
		e->at = e->text.len;
		break;
	case KEY_DELETE:
		edit_erase(e, e->at, next_char(&e->text, e->at));
		break;
	case KEY_NONE:
		break;
	}
}

/* Returns true when the escape sequence is complete, known or not (ECMA-48,
   5.4). */
static bool
feed_escape(struct line_edit *e)
{
	size_t n = e->sequence_len;
	char last = e->sequence[n - 1];

	if (n == 1 || (n == 2 && (last == '[' || last == 'O')))
		return false;
	if (n > 2 && e->sequence[1] == '[' && (last < 0x40 || last > 0x7E) &&
	    n < sizeof(e->sequence) - 1)
		return false;
	e->sequence[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i].sequence, e->sequence + 1))
			press_key(e, keys[i].key);
	return true;
}

/* Returns true when the bytes are a whole character, which is then inserted, or
   can never become one. */
static bool
feed_character(struct line_edit *e)
{
	size_t n = e->sequence_len;

	if (text_is_cut(e->sequence, n) && n < 4)
		return false;
	if (text_valid_prefix(e->sequence, n) == n)
		edit_insert(e, e->sequence, n);
	return true;
}

static enum line_state
control_key(struct line_edit *e, unsigned char byte)
{
	switch (byte) {
	case '\r':
	case '\n':
		return LINE_DONE;
	case CTRL('C'):
		return LINE_STOPPED;
	case CTRL('D'):
		if (!e->text.len)
			return LINE_END;
		press_key(e, KEY_DELETE);
		break;
	case CTRL('A'):
		press_key(e, KEY_HOME);
		break;
	case CTRL('E'):
		press_key(e, KEY_END);
		break;
	case CTRL('B'):
		press_key(e, KEY_LEFT);
		break;
	case CTRL('F'):
		press_key(e, KEY_RIGHT);
		break;
	case CTRL('P'):
		press_key(e, KEY_UP);
		break;
	case CTRL('N'):
		press_key(e, KEY_DOWN);
		break;
	case CTRL('H'):
	case 0x7F:
		edit_erase(e, last_char(&e->text, e->at), e->at);
		break;
	case CTRL('K'):
		edit_erase(e, e->at, e->text.len);
		break;
	case CTRL('U'):
		edit_erase(e, 0, e->at);
		break;
	case CTRL('W'):
		edit_erase_word(e);
		break;
	case '\t':
		edit_insert(e, INDENT, sizeof(INDENT) - 1);
		break;
	default:
		break;
	}
	return LINE_MORE;
}

enum line_state
line_edit_feed(struct line_edit *e, unsigned char byte)
{
	bool over;

	if (!e->sequence_len && byte != ESCAPE && byte < 0x80) {
		if (byte < 0x20 || byte == 0x7F)
			return control_key(e, byte);
		edit_insert(e, (const char *)&byte, 1);
		return LINE_MORE;
	}
	e->sequence[e->sequence_len++] = (char)byte;
	over = e->sequence[0] == ESCAPE ? feed_escape(e) : feed_character(e);
	if (over)
		e->sequence_len = 0;
	return LINE_MORE;
}

/* ---- what is shown ---- */

/* Returns the offset of the first byte to show, so that the cursor fits into
   `width_left` columns. */
static size_t
first_shown(const struct line_edit *e, unsigned width_left)
{
	size_t from = e->at;
	unsigned used = 0;

	while (from) {
		size_t before = last_char(&e->text, from);

		used += width_of(e->text.data + before, from - before);
		if (used >= width_left)
			return from;
		from = before;
	}
	return 0;
}

int
line_edit_draw(const struct line_edit *e, const char *prompt, unsigned columns,
	       struct buf *out)
{
	unsigned prompt_width = (unsigned)strlen(prompt);
	unsigned width_left =
		columns > prompt_width + 8 ? columns - prompt_width : 8;
	size_t from = first_shown(e, width_left), to = from;
	unsigned used = 0, cursor = 0;

	while (to < e->text.len) {
		size_t next = next_char(&e->text, to);
		unsigned width = width_of(e->text.data + to, next - to);

		if (used + width >= width_left)
			break;
		used += width;
		to = next;
		if (to <= e->at)
			cursor = used;
	}
	if (buf_addf(out, "\r%s", prompt) < 0 ||
	    buf_add(out, buf_text(&e->text) + from, to - from) < 0)
		return -1;
	return buf_addf(out, "\033[K\r\033[%uC", prompt_width + cursor);
}

/* ---- lines ---- */

void
line_edit_begin(struct line_edit *e)
{
	edit_set(e, "");
	e->sequence_len = 0;
	e->own.len = 0;
	e->shown = e->history.count;
}

int
line_edit_remember(struct line_edit *e, const char *line)
{
	struct list *h = &e->history;

	if (!*line || (h->count && !strcmp(h->items[h->count - 1], line)))
		return 0;
	if (h->count == LINE_EDIT_HISTORY) {
		free(h->items[0]);
		memmove(h->items, h->items + 1, h->count * sizeof(*h->items));
		h->count--;
	}
	return list_add(h, line);
}

void
line_edit_free(struct line_edit *e)
{
	buf_free(&e->text);
	buf_free(&e->own);
	list_free(&e->history);
}
