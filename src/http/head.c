#include "http/head.h"

#include <string.h>
#include <strings.h>

#include "base/net/address.h"

static bool
is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Whether the text has no control characters except tabs: no lone CR, LF or
   NUL. */
static bool
is_clean(struct http_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (((unsigned char)t.text[i] < ' ' && t.text[i] != '\t') ||
		    t.text[i] == 0x7f)
			return false;
	return true;
}

static struct http_text
trim(struct http_text t)
{
	while (t.len && (t.text[0] == ' ' || t.text[0] == '\t')) {
		t.text++;
		t.len--;
	}
	while (t.len && (t.text[t.len - 1] == ' ' || t.text[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* Parses digits only, at most `most_digits` of them. */
static int
read_number(struct http_text t, size_t most_digits, uint64_t *out)
{
	*out = 0;
	if (!t.len || t.len > most_digits)
		return -1;
	for (size_t i = 0; i < t.len; i++) {
		if (t.text[i] < '0' || t.text[i] > '9')
			return -1;
		*out = *out * 10 + (uint64_t)(t.text[i] - '0');
	}
	return 0;
}

/* ---- lines ---- */

bool
http_head_next(struct http_text *rest, struct http_text *line)
{
	const char *lf = memchr(rest->text, '\n', rest->len);

	if (!lf)
		return false;
	*line = (struct http_text){ rest->text, (size_t)(lf - rest->text) };
	rest->len -= line->len + 1;
	rest->text = lf + 1;
	if (line->len && line->text[line->len - 1] == '\r')
		line->len--;
	return true;
}

/* Whether a line ends with CR LF and contains no other control characters. */
static bool
is_line(struct http_text l)
{
	return l.text[l.len] == '\r' && is_clean(l);
}

void
http_head_split(struct http_text line, struct http_text *name,
		struct http_text *value)
{
	size_t i = 0;

	while (i < line.len && is_token(line.text[i]))
		i++;
	*name = (struct http_text){ line.text, i };
	*value = trim((struct http_text){
		line.text + i + 1, i < line.len ? line.len - i - 1 : 0 });
}

bool
http_head_is(struct http_text name, const char *word)
{
	return name.len == strlen(word) &&
	       !strncasecmp(name.text, word, name.len);
}

/* ---- the request ---- */

/* Parses "METHOD TARGET HTTP/1.x" with single spaces. */
static int
read_request(struct http_text l, struct http_head *out)
{
	static const char versions[][10] = { " HTTP/1.0", " HTTP/1.1" };
	const char *end;
	size_t i = 0;

	while (i < l.len && is_token(l.text[i]))
		i++;
	if (!i || l.len < i + 2 + 9 || l.text[i] != ' ' ||
	    memchr(l.text, '\t', l.len))
		return -1;
	end = l.text + l.len - 9;
	out->method = (struct http_text){ l.text, i };
	out->target = (struct http_text){ l.text + i + 1, l.len - i - 1 - 9 };
	if (memchr(out->target.text, ' ', out->target.len) ||
	    (memcmp(end, versions[0], 9) != 0 &&
	     memcmp(end, versions[1], 9) != 0))
		return -1;
	out->is_old = end[8] == '0';
	return 0;
}

/* Parses an address, with brackets around IPv6 only, and writes its
   canonical form. */
static int
read_address(struct http_text t, bool bracketed, char host[HOST_NAME_SIZE])
{
	char text[ADDRESS_TEXT];
	struct address a;

	if (t.len >= sizeof(text))
		return -1;
	memcpy(text, t.text, t.len);
	text[t.len] = '\0';
	if (strlen(text) != t.len || address_read(text, &a) < 0 ||
	    a.is_v6 != bracketed)
		return -1;
	address_show(&a, host);
	return 0;
}

int
http_head_host(struct http_text t, char host[HOST_NAME_SIZE], uint16_t *port)
{
	bool bracketed = t.len && t.text[0] == '[';
	const char *end = memchr(t.text, bracketed ? ']' : ':', t.len);
	struct http_text inner = { t.text + bracketed, 0 }, rest = { 0 };
	uint64_t number = 0;

	if (bracketed && !end)
		return -1;
	inner.len = (end ? (size_t)(end - t.text) : t.len) - bracketed;
	if (end) {
		rest.text = end + bracketed;
		rest.len = t.len - (size_t)(rest.text - t.text);
	}
	/* No leading zero: the same port must not have two spellings. */
	if (rest.len &&
	    (rest.text[0] != ':' || rest.len < 2 || rest.text[1] == '0' ||
	     read_number((struct http_text){ rest.text + 1, rest.len - 1 }, 5,
			 &number) < 0 ||
	     number > UINT16_MAX))
		return -1;
	*port = (uint16_t)number;
	if (!bracketed && host_name_read(inner.text, inner.len, host) == 0)
		return 0;
	return read_address(inner, bracketed, host);
}

/* ---- headers ---- */

/* How often each header that may appear only once has been seen. */
struct seen {
	unsigned hosts, lengths, encodings;
};

static int
parse_host(struct http_text value, struct seen *s, struct http_head *out)
{
	s->hosts++;
	return http_head_host(value, out->host, &out->port);
}

static int
parse_length(struct http_text value, struct seen *s, struct http_head *out)
{
	s->lengths++;
	return read_number(value, 18, &out->body_bytes);
}

static int
parse_encoding(struct http_text value, struct seen *s, struct http_head *out)
{
	s->encodings++;
	out->is_chunked = true;
	/* HTTP/1.0 has no transfer encodings. */
	return !out->is_old && http_head_is(value, "chunked") ? 0 : -1;
}

static int
note_ambiguity(struct http_text value, struct seen *s, struct http_head *out)
{
	(void)value;
	(void)s;
	out->is_ambiguous = true;
	return 0;
}

static const struct {
	const char *name;
	int (*parse)(struct http_text value, struct seen *s,
		     struct http_head *out);
} headers[] = {
	{ "host", parse_host },
	{ "content-length", parse_length },
	{ "transfer-encoding", parse_encoding },
	/* The bytes that follow would be another protocol, or a server that
	   honours the header would treat the request as another method. */
	{ "upgrade", note_ambiguity },
	{ "http2-settings", note_ambiguity },
	{ "x-http-method", note_ambiguity },
	{ "x-http-method-override", note_ambiguity },
	{ "x-method-override", note_ambiguity },
};

static int
read_header(struct http_text l, struct seen *s, struct http_head *out)
{
	struct http_text name, value;

	http_head_split(l, &name, &value);
	/* A line that begins with a space would continue the previous one. */
	if (!name.len || name.len == l.len || l.text[name.len] != ':')
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++)
		if (http_head_is(name, headers[i].name))
			return headers[i].parse(value, s, out);
	return 0;
}

/* Older clients send CONNECT without a Host header. */
static bool
is_unambiguous(const struct http_head *h, const struct seen *s)
{
	bool may_lack =
		h->method.len == 7 && !memcmp(h->method.text, "CONNECT", 7);

	return (s->hosts == 1 || (may_lack && !s->hosts)) &&
	       s->lengths + s->encodings <= 1 && h->len <= HEAD_MAX;
}

enum head
http_head_read(const char *bytes, size_t len, struct http_head *out)
{
	struct http_text rest = { bytes, len }, line;
	struct seen s = { 0 };
	bool first = true;

	*out = (struct http_head){ 0 };
	while (http_head_next(&rest, &line)) {
		if (!is_line(line))
			return HEAD_BAD;
		if (!first && !line.len) {
			out->len = len - rest.len;
			out->has_host = s.hosts == 1;
			return is_unambiguous(out, &s) ? HEAD_NAME : HEAD_BAD;
		}
		if ((first ? read_request(line, out)
			   : read_header(line, &s, out)) < 0)
			return HEAD_BAD;
		first = false;
	}
	return len >= HEAD_MAX ? HEAD_BAD : HEAD_MORE;
}

/* ---- requests to a proxy ---- */

/* Parses http://HOST[:PORT][/PATH], without user and fragment; a query is
   accepted only after a path. */
static int
read_url(struct http_text url, struct http_proxy_request *out)
{
	static const char scheme[] = "http://";
	static const char root[] = "/";
	const size_t n = sizeof(scheme) - 1;
	struct http_text host;
	const char *slash;

	if (url.len <= n || strncasecmp(url.text, scheme, n) != 0)
		return -1;
	host = (struct http_text){ url.text + n, url.len - n };
	out->target = (struct http_text){ root, 1 };
	slash = memchr(host.text, '/', host.len);
	if (slash) {
		out->target.text = slash;
		out->target.len = (size_t)(host.text + host.len - slash);
		host.len = (size_t)(slash - host.text);
	}
	if (http_head_host(host, out->host, &out->port) < 0)
		return -1;
	if (!out->port)
		out->port = 80;
	return 0;
}

/* A Host header without a port means the port of the URL or of the tunnel. */
static bool
matches_host(const struct http_head *h, const struct http_proxy_request *a)
{
	return !strcmp(h->host, a->host) && (!h->port || h->port == a->port);
}

int
http_proxy_request_read(const struct http_head *h,
			struct http_proxy_request *out)
{
	*out = (struct http_proxy_request){
		.is_tunnel = http_head_is(h->method, "CONNECT"),
	};
	if (!out->is_tunnel)
		return read_url(h->target, out) == 0 && matches_host(h, out)
			       ? 0
			       : -1;
	/* A tunnel has no body: the bytes after the head are already its
	   content. */
	if (h->is_chunked || h->body_bytes ||
	    http_head_host(h->target, out->host, &out->port) < 0 || !out->port)
		return -1;
	return !h->has_host || matches_host(h, out) ? 0 : -1;
}
