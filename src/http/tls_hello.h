/*
 * tls_hello: the server name in a TLS ClientHello (RFC 8446, RFC 6066).
 */
#ifndef REMIT_TLS_HELLO_H
#define REMIT_TLS_HELLO_H

#include "base/net/host_name.h"

/* What the first bytes of a connection reveal about the host. */
enum head {
	HEAD_MORE, /* incomplete so far */
	HEAD_NAME, /* complete, and names one host */
	HEAD_BAD,  /* names no host or several, or is malformed */
};

/* The maximum size of a head; longer ones are bad. */
#define HEAD_MAX 16384

/* `name` is set to the name in server_name, which must be a single one. A
   hello that hides its name (encrypted client hello) is bad. */
enum head tls_hello_read(const char *bytes, size_t len,
			 char name[HOST_NAME_SIZE]);

#endif
