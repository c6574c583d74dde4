/*
 * tls: one end of a TLS connection, with reads and writes like those of a
 * socket. A proxy uses it as a server to the code in a jail and as a client to
 * a host; a server uses it for its clients. All of them use one configuration:
 * TLS 1.2 or 1.3, with fresh keys for each connection and HTTP/1.1 inside.
 */
#ifndef REMIT_TLS_H
#define REMIT_TLS_H

#include <mbedtls/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/own.h"

struct tls;

/* Serves code in a jail, whose first bytes (`early`) were already read from
   the socket. Returns NULL if memory is exhausted. Here and below the
   configuration must outlive the connection. */
struct tls *tls_to_code(const mbedtls_ssl_config *c, int fd, const char *early,
			size_t len);
/* Connects to a host, whose certificate must be valid for this name. */
struct tls *tls_to_host(const mbedtls_ssl_config *c, int fd, const char *host);
/* Serves a client of the server. */
struct tls *tls_to_client(const mbedtls_ssl_config *c, int fd);
/* Accepts NULL. */
void tls_free(struct tls *t);

/* Continues the handshake. Returns 0 when it is complete. Returns -1 with
   EAGAIN if it waits for bytes from the other side, or with EALREADY if the
   socket cannot take more bytes; any other error is final, and none of the
   caller's data has been sent. */
int tls_handshake(struct tls *t) must_check;
bool tls_is_established(const struct tls *t);

/* Like recv(2) and send(2) on a non-blocking socket. Bytes that could not be
   sent must be offered again before any others. */
ssize_t tls_read(struct tls *t, char *out, size_t size);
ssize_t tls_write(struct tls *t, const char *bytes, size_t len);
/* Whether bytes are buffered that epoll will not report. */
bool tls_has_more(const struct tls *t);
/* Whether the connection ended without a close_notify: the data may have
   been truncated. */
bool tls_is_truncated(const struct tls *t);
/* Sends close_notify: no more data will follow. */
void tls_close_notify(struct tls *t);

/* ---- configuration ---- */

/* `end` is MBEDTLS_SSL_IS_SERVER or MBEDTLS_SSL_IS_CLIENT. Returns -1 if
   memory is exhausted or the library cannot start. The caller frees the
   configuration in any case. */
int tls_configure(mbedtls_ssl_config *c, int end) must_check;

#endif
