#include "http_head.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct line {
	const char *text;
	size_t len;
};

static bool
is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* No control character but tab: no CR, LF or NUL on its own. */
static bool
is_clean(struct line l)
{
	for (size_t i = 0; i < l.len; i++)
		if (((unsigned char)l.text[i] < ' ' && l.text[i] != '\t') ||
		    l.text[i] == 0x7f)
			return false;
	return true;
}

/* METHOD /path HTTP/1.x: no other form of a target names no other host. */
static bool
request_is_fine(struct line l)
{
	static const char versions[][10] = { " HTTP/1.0", " HTTP/1.1" };
	size_t i = 0;

	while (i < l.len && is_token(l.text[i]))
		i++;
	if (!i || l.len < i + 2 + 9 || l.text[i] != ' ' ||
	    (l.text[i + 1] != '/' && l.text[i + 1] != '*'))
		return false;
	if (memchr(l.text + i + 1, ' ', l.len - i - 1 - 9) ||
	    memchr(l.text, '\t', l.len))
		return false;
	return !memcmp(l.text + l.len - 9, versions[0], 9) ||
	       !memcmp(l.text + l.len - 9, versions[1], 9);
}

static struct line
trim(struct line l)
{
	while (l.len && (l.text[0] == ' ' || l.text[0] == '\t')) {
		l.text++;
		l.len--;
	}
	while (l.len && (l.text[l.len - 1] == ' ' || l.text[l.len - 1] == '\t'))
		l.len--;
	return l;
}

static int
read_host(struct line value, uint16_t port, char name[HOST_NAME_SIZE])
{
	const char *colon = memchr(value.text, ':', value.len);
	size_t n = colon ? (size_t)(colon - value.text) : value.len;
	char wanted[8];
	int digits = snprintf(wanted, sizeof(wanted), ":%u", port);

	if (colon && (value.len - n != (size_t)digits ||
		      memcmp(colon, wanted, (size_t)digits) != 0))
		return -1;
	return host_name_read(value.text, n, name);
}

/* "Name: value"; 1 if it was the host's. */
static int
read_header(struct line l, uint16_t port, char name[HOST_NAME_SIZE])
{
	struct line value;
	size_t i = 0;

	while (i < l.len && is_token(l.text[i]))
		i++;
	/* A line that begins with a space would go on with the one before. */
	if (!i || i == l.len || l.text[i] != ':')
		return -1;
	if (i != 4 || strncasecmp(l.text, "host", 4) != 0)
		return 0;
	value = trim((struct line){ l.text + i + 1, l.len - i - 1 });
	return read_host(value, port, name) < 0 ? -1 : 1;
}

/* The next line, without its end; false if it is not all there. */
static bool
next_line(const char **at, const char *end, struct line *out)
{
	const char *lf = memchr(*at, '\n', (size_t)(end - *at));

	if (!lf)
		return false;
	*out = (struct line){ *at, (size_t)(lf - *at) };
	*at = lf + 1;
	return true;
}

/* Lines end with CR and LF, and nothing else does. */
static bool
strip_cr(struct line *l)
{
	if (!l->len || l->text[l->len - 1] != '\r')
		return false;
	l->len--;
	return is_clean(*l);
}

enum head
http_head_read(const char *bytes, size_t len, uint16_t port,
	       char name[HOST_NAME_SIZE])
{
	const char *at = bytes, *end = bytes + len;
	bool first = true;
	int hosts = 0;
	struct line l;

	while (next_line(&at, end, &l)) {
		int is_host = 0;

		if (!strip_cr(&l))
			return HEAD_BAD;
		if (!first && !l.len)
			return hosts == 1 ? HEAD_NAME : HEAD_BAD;
		if (first ? !request_is_fine(l)
			  : (is_host = read_header(l, port, name)) < 0)
			return HEAD_BAD;
		first = false;
		hosts += is_host;
	}
	return len >= HEAD_MAX ? HEAD_BAD : HEAD_MORE;
}
