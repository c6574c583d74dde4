/*
 * http_head: parses the head of an HTTP/1 request (RFC 9112) and finds the host
 * it is for, also when it is sent to a proxy. It is strict: a head that two
 * parsers could understand differently is bad.
 */
#ifndef REMIT_HTTP_HEAD_H
#define REMIT_HTTP_HEAD_H

#include <stdint.h>

#include "http/tls_hello.h"

/* Points into the bytes that were parsed. */
struct http_text {
	const char *text;
	size_t len;
};

struct http_head {
	size_t len; /* including the empty line at its end */
	struct http_text method, target;
	bool has_host;		   /* false only for CONNECT */
	char host[HOST_NAME_SIZE]; /* a name or an address */
	uint16_t port;		   /* 0: not stated */
	bool is_old;		   /* HTTP/1.0 */
	bool is_chunked;
	uint64_t body_bytes; /* if not chunked */
	bool is_ambiguous;   /* a header asks for another protocol or method */
};

/* Returns HEAD_NAME if the head is complete and names one host. */
enum head http_head_read(const char *bytes, size_t len, struct http_head *out);

/* Parses a host with or without a port into the form in which hosts are
   compared. Sets *port to 0 if no port is stated. Returns -1 if it is not a
   host. */
int http_head_host(struct http_text t, char host[HOST_NAME_SIZE],
		   uint16_t *port) must_check;

/* Iterates over the lines of a parsed head: returns the next line, or false
   after the last. http_head_split() separates a header line into its name
   and its value without surrounding blanks. */
bool http_head_next(struct http_text *rest, struct http_text *line);
void http_head_split(struct http_text line, struct http_text *name,
		     struct http_text *value);
bool http_head_is(struct http_text name, const char *word);

/* ---- requests to a proxy: "CONNECT host:port" or "GET http://host/path" (RFC
   9110, 9.3.6 and RFC 9112, 3.2.2) ---- */

struct http_proxy_request {
	bool is_tunnel; /* CONNECT: raw bytes go to the host */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	struct http_text target; /* of the request that goes to the host */
};

/* Returns -1 if the request names no host, or a host other than its Host
   header does. */
int http_proxy_request_read(const struct http_head *h,
			    struct http_proxy_request *out) must_check;

#endif
