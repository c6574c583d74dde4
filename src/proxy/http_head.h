/*
 * http_head: the host that the first request of an HTTP/1 connection is for
 * (RFC 9112). Strict: what two readers could read in two ways is bad.
 */
#ifndef REMIT_HTTP_HEAD_H
#define REMIT_HTTP_HEAD_H

#include <stdint.h>

#include "tls_hello.h"

/* The one Host header; its port, if it has one, must be this one. */
enum head http_head_read(const char *bytes, size_t len, uint16_t port,
			 char name[HOST_NAME_SIZE]);

#endif
