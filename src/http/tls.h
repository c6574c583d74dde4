/*
 * tls: one end of a connection that TLS is spoken on: by a proxy, as server to
 * code or as client to a host, or by a server to its clients. It reads and
 * writes like a socket. All of them speak one form of TLS: version 1.2 or 1.3,
 * keys for one connection, HTTP/1.1 inside.
 */
#ifndef REMIT_TLS_H
#define REMIT_TLS_H

#include <mbedtls/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/own.h"

struct tls;

/* To code, which has said these bytes already. NULL: no memory. Here and below
   the configuration outlives the connection. */
struct tls *tls_to_code(const mbedtls_ssl_config *c, int fd, const char *early,
			size_t len);
/* To a host, which has to prove that it is this one. */
struct tls *tls_to_host(const mbedtls_ssl_config *c, int fd, const char *host);
/* To a client of a server. */
struct tls *tls_to_client(const mbedtls_ssl_config *c, int fd);
/* NULL is fine. */
void tls_free(struct tls *t);

/* Go on until both agree: 0. -1 with EAGAIN if the other side has to say more,
   or with EALREADY if what is said here finds no room; else it has failed, and
   nothing of what is to be sent has been. */
int tls_handshake(struct tls *t) must_check;
bool tls_is_established(const struct tls *t);

/* As recv(2) and send(2) on a socket that does not block. What is not sent at
   once has to be offered again, before anything else. */
ssize_t tls_read(struct tls *t, char *out, size_t size);
ssize_t tls_write(struct tls *t, const char *bytes, size_t len);
/* Bytes are here that no event will tell of. */
bool tls_has_more(const struct tls *t);
/* It ended without saying so: what it said may have been cut off. */
bool tls_is_truncated(const struct tls *t);
/* Say that no more will come. */
void tls_close_notify(struct tls *t);

/* ---- the one form of TLS ---- */

/* `end` is MBEDTLS_SSL_IS_SERVER or MBEDTLS_SSL_IS_CLIENT. -1: no memory, or no
   random bytes; the caller frees it in any case. */
int tls_configure(mbedtls_ssl_config *c, int end) must_check;

#endif
