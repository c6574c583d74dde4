#include "http/request.h"

#include <string.h>

/* ---- the head ---- */

/* Headers that are about this connection, or for a proxy. */
static const char *const dropped[] = {
	"connection",	      "keep-alive",	     "proxy-connection",
	"proxy-authenticate", "proxy-authorization",
};

static bool
is_dropped(struct http_text name, const struct http_header *put)
{
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if (http_head_is(name, dropped[i]))
			return true;
	return put && http_head_is(name, put->name);
}

static char *
append(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static char *
append_word(char *at, const char *word)
{
	return append(at, word, strlen(word));
}

static char *
append_line(char *at, struct http_text line)
{
	return append_word(append(at, line.text, line.len), "\r\n");
}

size_t
http_request_write(char *out, const char *bytes, const struct http_head *h,
		   struct http_text target, const struct http_header *put)
{
	struct http_text rest = { bytes, h->len }, line, name, value;
	char *at = append(out, h->method.text, h->method.len);

	at = append_word(at, " ");
	at = append(at, target.text, target.len);
	at = append_word(at, h->is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	http_head_next(&rest, &line);
	while (http_head_next(&rest, &line) && line.len) {
		http_head_split(line, &name, &value);
		if (!is_dropped(name, put))
			at = append_line(at, line);
	}
	at = append_word(at, "Connection: close\r\n");
	if (put) {
		at = append_word(append_word(at, put->name), ": ");
		at = append_word(append_word(at, put->value), "\r\n");
	}
	at = append_word(at, "\r\n");
	return (size_t)(at - out);
}

/* ---- the body ---- */

void
http_body_begin(struct http_body *b, const struct http_head *h)
{
	*b = (struct http_body){ .state = BODY_OVER, .left = h->body_bytes };
	if (h->is_chunked)
		b->state = BODY_SIZE;
	else if (b->left)
		b->state = BODY_BYTES;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses the two bytes of a line end; b->at is 1 after the CR. */
static int
feed_line_end(struct http_body *b, char c, enum http_body_state then)
{
	if (c != (b->at ? '\n' : '\r'))
		return -1;
	b->at = !b->at;
	if (!b->at)
		b->state = then;
	return 0;
}

/* A chunk's size: hexadecimal digits and a line end, without extension, sign
   or blanks. */
#define SIZE_DIGITS 15
#define SIZE_ENDS   16

static int
feed_size(struct http_body *b, char c)
{
	int digit = hex_digit(c);

	if (b->at < SIZE_DIGITS && digit >= 0) {
		b->left = b->left * 16 + (uint64_t)digit;
		b->at++;
		return 0;
	}
	if (b->at && b->at < SIZE_ENDS && c == '\r') {
		b->at = SIZE_ENDS;
		return 0;
	}
	if (b->at != SIZE_ENDS || c != '\n')
		return -1;
	b->at = 0;
	b->state = b->left ? BODY_CHUNK : BODY_TRAILER;
	return 0;
}

static int
feed_byte(struct http_body *b, char c)
{
	switch (b->state) {
	case BODY_SIZE:
		return feed_size(b, c);
	case BODY_CHUNK_END:
		return feed_line_end(b, c, BODY_SIZE);
	/* Trailers are rejected: clients do not need them, and parsers
	   disagree on them. */
	case BODY_TRAILER:
		return feed_line_end(b, c, BODY_OVER);
	default:
		return -1;
	}
}

int
http_body_feed(struct http_body *b, const char *bytes, size_t len)
{
	while (len) {
		bool many = b->state == BODY_BYTES || b->state == BODY_CHUNK;
		size_t n = many && b->left < len ? (size_t)b->left : len;

		if (!many && feed_byte(b, *bytes) < 0)
			return -1;
		n = many ? n : 1;
		bytes += n;
		len -= n;
		if (!many)
			continue;
		b->left -= n;
		if (!b->left)
			b->state = b->state == BODY_CHUNK ? BODY_CHUNK_END
							  : BODY_OVER;
	}
	return 0;
}
