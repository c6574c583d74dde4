/*
 * http_head: the head of a request of HTTP/1 (RFC 9112), and the host that it
 * is for, also if it asks for a proxy. Strict: what two readers could read in
 * two ways is bad.
 */
#ifndef REMIT_HTTP_HEAD_H
#define REMIT_HTTP_HEAD_H

#include <stdint.h>

#include "http/tls_hello.h"

/* A part of the bytes that were read. */
struct http_text {
	const char *text;
	size_t len;
};

struct http_head {
	size_t len; /* with the empty line at its end */
	struct http_text method, target;
	bool has_host;		   /* only CONNECT may have none */
	char host[HOST_NAME_SIZE]; /* of the one Host: a name, or an address */
	uint16_t port;		   /* 0: it says none */
	bool is_old;		   /* HTTP/1.0 */
	bool is_chunked;
	uint64_t body_bytes; /* if it is not chunked */
	bool is_ambiguous;   /* it asks for another protocol or method */
};

/* HEAD_NAME: all of it is there, and names one host. */
enum head http_head_read(const char *bytes, size_t len, struct http_head *out);

/* A host with or without a port, in the form in which hosts are compared; -1
   if it is none. Without a port that is 0. */
int http_head_host(struct http_text t, char host[HOST_NAME_SIZE],
		   uint16_t *port) must_check;

/* The next line of bytes that were read, and its name and value (blanks around
   it left out) if it is no request. False behind the last. */
bool http_head_next(struct http_text *rest, struct http_text *line);
void http_head_split(struct http_text line, struct http_text *name,
		     struct http_text *value);
bool http_head_is(struct http_text name, const char *word);

/* ---- whom a client means that asks for a proxy (RFC 9110, 9.3.6 and
   RFC 9112, 3.2.2): "CONNECT host:port", or "GET http://host/path" ---- */

struct http_proxy_request {
	bool is_tunnel; /* bytes, not this request, go to the host */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	struct http_text target; /* of the request for the host */
};

/* -1 if it names nobody, or somebody else than its Host. */
int http_proxy_request_read(const struct http_head *h,
			    struct http_proxy_request *out) must_check;

#endif
