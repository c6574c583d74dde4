#include "http/ask.h"

#include <string.h>
#include <strings.h>

/* http://HOST[:PORT][/PATH]; no user, no fragment, and nothing but a path. */
static int
read_url(struct http_text url, struct http_ask *out)
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

/* Without a port it is the scheme's; a tunnel has none. */
static bool
is_its_host(const struct http_head *h, const struct http_ask *a)
{
	return !strcmp(h->host, a->host) && (!h->port || h->port == a->port);
}

int
http_ask_read(const struct http_head *h, struct http_ask *out)
{
	*out = (struct http_ask){
		.is_tunnel = http_head_is(h->method, "CONNECT"),
	};
	if (!out->is_tunnel)
		return read_url(h->target, out) == 0 && is_its_host(h, out)
			       ? 0
			       : -1;
	/* A tunnel has no body: what follows is its first bytes. */
	if (h->is_chunked || h->body_bytes ||
	    http_head_host(h->target, out->host, &out->port) < 0 || !out->port)
		return -1;
	return !h->has_host || is_its_host(h, out) ? 0 : -1;
}
