/*
 * tls_hello: the name that a TLS client asks for (RFC 8446, RFC 6066).
 */
#ifndef REMIT_TLS_HELLO_H
#define REMIT_TLS_HELLO_H

#include "base/net/host_name.h"

/* What the first bytes of a connection say of the host that is meant. */
enum head {
	HEAD_MORE, /* not all of it is there */
	HEAD_NAME, /* it names one host */
	HEAD_BAD,  /* it names none, or several, or is something else */
};

/* A head is no longer than this, or it is bad. */
#define HEAD_MAX 16384

/* The name is that of the one server_name. A hello that hides its name from
   us (encrypted client hello) is bad. */
enum head tls_hello_read(const char *bytes, size_t len,
			 char name[HOST_NAME_SIZE]);

#endif
