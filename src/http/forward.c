#include "http/forward.h"

#include <string.h>
#include <strings.h>

/* ---- the request ---- */

/* Headers about one connection. */
static const char *const hop_headers[] = {
	"connection",	       "keep-alive",	 "proxy-connection", "te",
	"proxy-authorization", "http2-settings", "trailer",	     "upgrade",
};

/* Headers that no list of a client removes: they say where the request ends and
   whom it is for. */
static const char *const end_to_end[] = { "host", "content-length",
					  "transfer-encoding" };

static bool
is_in(struct http_text name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count && words[i]; i++)
		if (http_head_is(name, words[i]))
			return true;
	return false;
}

static bool
same(struct http_text a, struct http_text b)
{
	return a.len == b.len && !strncasecmp(a.text, b.text, a.len);
}

/* Cuts the first word off a list that is separated by commas. */
static bool
next_word(struct http_text *list, struct http_text *word)
{
	const char *comma;

	while (list->len && strchr(" \t,", list->text[0])) {
		list->text++;
		list->len--;
	}
	if (!list->len)
		return false;
	comma = memchr(list->text, ',', list->len);
	*word = *list;
	if (comma)
		word->len = (size_t)(comma - list->text);
	list->text += word->len;
	list->len -= word->len;
	while (word->len && strchr(" \t", word->text[word->len - 1]))
		word->len--;
	return true;
}

/* The words of all headers Connection. */
struct listed {
	struct http_text words[FORWARD_WORDS_MAX];
	size_t count;
};

static int
add_words(struct listed *l, struct http_text list)
{
	struct http_text word;

	while (next_word(&list, &word)) {
		if (l->count == ARRAY_LEN(l->words))
			return -1;
		l->words[l->count++] = word;
	}
	return 0;
}

/* Every header is compared with all words, so there may not be many of either.
   Returns -1 if there are. */
static int
read_listed(const char *bytes, const struct http_head *h, struct listed *l)
{
	struct http_text rest = { bytes, h->len }, line, name, value;
	size_t headers = 0;

	l->count = 0;
	if (!http_head_next(&rest, &line)) /* the request line */
		return -1;
	while (http_head_next(&rest, &line) && line.len) {
		if (++headers > FORWARD_HEADERS_MAX)
			return -1;
		http_head_split(line, &name, &value);
		if (http_head_is(name, "connection") && add_words(l, value) < 0)
			return -1;
	}
	return 0;
}

static bool
connection_lists(const struct listed *l, struct http_text wanted)
{
	for (size_t i = 0; i < l->count; i++)
		if (same(l->words[i], wanted))
			return true;
	return false;
}

static bool
is_forwarded(const struct listed *l, struct http_text name,
	     const char *const *secrets)
{
	if (is_in(name, secrets, SIZE_MAX))
		return false;
	if (is_in(name, end_to_end, ARRAY_LEN(end_to_end)))
		return true;
	return !is_in(name, hop_headers, ARRAY_LEN(hop_headers)) &&
	       !connection_lists(l, name);
}

static int
add_line(struct buf *out, struct http_text line)
{
	return buf_add(out, line.text, line.len) < 0 ? -1
						     : buf_add(out, "\r\n", 2);
}

int
http_forward_request(struct buf *out, const char *bytes,
		     const struct http_head *h, const char *const *secrets,
		     bool *upgrades)
{
	static const struct http_text upgrade = { "upgrade", 7 };
	struct http_text rest = { bytes, h->len }, line, name, value;
	struct listed listed;
	bool may;

	*upgrades = false;
	if (read_listed(bytes, h, &listed) < 0)
		return -1;
	may = !h->is_old && connection_lists(&listed, upgrade);
	if (!http_head_next(&rest, &line) || add_line(out, line) < 0)
		return -1;
	while (http_head_next(&rest, &line) && line.len) {
		bool asks;

		http_head_split(line, &name, &value);
		asks = may && http_head_is(name, "upgrade");
		*upgrades |= asks;
		if ((asks || is_forwarded(&listed, name, secrets)) &&
		    add_line(out, line) < 0)
			return -1;
	}
	return buf_addf(out, "Connection: %s\r\n\r\n",
			*upgrades ? "Upgrade" : "close");
}

/* ---- the reply ---- */

/* Parses "HTTP/1.x NNN" and an optional reason. Returns -1 if it is something
   else. */
static int
read_status(struct http_text l, int *status)
{
	*status = 0;
	if (l.len < 12 || (l.len > 12 && l.text[12] != ' ') ||
	    memcmp(l.text, "HTTP/1.", 7) != 0 ||
	    (l.text[7] != '0' && l.text[7] != '1') || l.text[8] != ' ')
		return -1;
	for (size_t i = 9; i < 12; i++) {
		if (l.text[i] < '0' || l.text[i] > '9')
			return -1;
		*status = *status * 10 + (l.text[i] - '0');
	}
	for (size_t i = 12; i < l.len; i++)
		if ((unsigned char)l.text[i] < ' ' && l.text[i] != '\t')
			return -1;
	return *status >= 100 ? 0 : -1;
}

/* Whether the bytes could be the beginning of a status line. */
static bool
may_begin_reply(const struct buf *in)
{
	static const char start[] = "HTTP/1.";
	size_t n = in->len < sizeof(start) - 1 ? in->len : sizeof(start) - 1;

	return !memcmp(buf_text(in), start, n);
}

static int
move_all(struct buf *in, struct buf *out)
{
	int failed = buf_add(out, in->data, in->len);

	buf_free(in);
	return failed;
}

/* Moves an interim reply, such as "100 Continue", if it is complete. */
static enum http_forward
forward_interim(struct buf *in, struct buf *out)
{
	struct http_text rest = { in->data, in->len }, line;

	while (http_head_next(&rest, &line)) {
		if (line.len)
			continue;
		if (buf_add(out, in->data, in->len - rest.len) < 0)
			return FORWARD_BAD;
		buf_drop(in, in->len - rest.len);
		return FORWARD_REPLY;
	}
	return FORWARD_MORE;
}

static enum http_forward
forward_final(struct buf *in, struct buf *out, struct http_text line,
	      size_t line_bytes)
{
	static const char close[] = "Connection: close\r\n";

	if (add_line(out, line) < 0 ||
	    buf_add(out, close, sizeof(close) - 1) < 0)
		return FORWARD_BAD;
	buf_drop(in, line_bytes);
	return move_all(in, out) < 0 ? FORWARD_BAD : FORWARD_REPLY;
}

enum http_forward
http_forward_reply(struct buf *in, struct buf *out, bool upgrades, int *status)
{
	while (in->len) {
		struct http_text rest = { in->data, in->len }, line;
		enum http_forward interim;

		if (!may_begin_reply(in))
			return FORWARD_BAD;
		if (!http_head_next(&rest, &line))
			break;
		if (read_status(line, status) < 0)
			return FORWARD_BAD;
		if (*status >= 200)
			return forward_final(in, out, line, in->len - rest.len);
		if (*status == 101 && !upgrades)
			return FORWARD_BAD;
		if (*status == 101)
			return move_all(in, out) < 0 ? FORWARD_BAD
						     : FORWARD_SWITCH;
		interim = forward_interim(in, out);
		if (interim != FORWARD_REPLY)
			return in->len < HEAD_MAX ? interim : FORWARD_BAD;
	}
	return in->len < HEAD_MAX ? FORWARD_MORE : FORWARD_BAD;
}
