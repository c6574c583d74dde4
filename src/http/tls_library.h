/*
 * tls_library: the calls of Mbed TLS that differ between 2.28 (Debian 12) and
 * 3.6 (Debian 13), and the source of random bytes for both. With 3.6,
 * connections use TLS 1.3 if the peer supports it, otherwise 1.2; with 2.28
 * always 1.2.
 */
#ifndef REMIT_TLS_LIBRARY_H
#define REMIT_TLS_LIBRARY_H

#include <limits.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include "base/own.h"

/* The result of mbedtls_ssl_read() for a ticket instead of data. */
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
#define TLS_LIBRARY_TICKET MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
#else
#define TLS_LIBRARY_TICKET INT_MIN /* 2.28 handles tickets itself */
#endif

/* A text for users: the TLS versions and the version of the library. */
const char *tls_library_version(void);
/* Random bytes from the kernel, with the signature that Mbed TLS expects. */
int tls_library_random(void *unused, unsigned char *out, size_t len);

/* Call before a configuration is used, and before a seccomp filter is loaded:
   TLS 1.3 gathers entropy once. Returns -1 if the library cannot start. */
int tls_library_start(void) must_check;
/* Allow TLS 1.2 and newer only, with the quick key exchanges first. */
void tls_library_restrict(mbedtls_ssl_config *c);

/* The following return 0 or an error number of Mbed TLS. */
int tls_library_set_serial(mbedtls_x509write_cert *w, unsigned char *bytes,
			   size_t len) must_check;
int tls_library_parse_key(mbedtls_pk_context *out, const unsigned char *pem,
			  size_t size) must_check;
int tls_library_check_pair(const mbedtls_pk_context *public_key,
			   const mbedtls_pk_context *key) must_check;

#endif
