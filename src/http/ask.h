/*
 * http_ask: whom a client means that asks for a proxy (RFC 9110, 9.3.6 and
 * RFC 9112, 3.2.2): "CONNECT host:port", or "GET http://host/path".
 */
#ifndef REMIT_HTTP_ASK_H
#define REMIT_HTTP_ASK_H

#include "http/head.h"

struct http_ask {
	bool is_tunnel; /* bytes, not this request, go to the host */
	char host[HOST_NAME_SIZE];
	uint16_t port;
	struct http_text target; /* of the request for the host */
};

/* -1 if it names nobody, or somebody else than its Host. */
int http_ask_read(const struct http_head *h, struct http_ask *out) must_check;

#endif
