/*
 * tls_form: the one form of TLS that is spoken here, to code, to hosts and to
 * clients of a server: version 1.2 or 1.3, keys for one connection, HTTP/1.1
 * inside.
 */
#ifndef REMIT_TLS_FORM_H
#define REMIT_TLS_FORM_H

#include <mbedtls/ssl.h>

#include "base/own.h"

/* `end` is MBEDTLS_SSL_IS_SERVER or MBEDTLS_SSL_IS_CLIENT. -1: no memory, or no
   random bytes; the caller frees it in any case. */
int tls_form(mbedtls_ssl_config *c, int end) must_check;

#endif
