/*
 * certificate: what a server proves its name with to clients of TLS, and the
 * key to it. Read before it serves, and again when it is told to; connections
 * that have begun with the old one go on with it.
 */
#ifndef REMIT_CERTIFICATE_H
#define REMIT_CERTIFICATE_H

#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/own.h"

struct certificate {
	struct refcount refs;
	mbedtls_x509_crt chain;
	mbedtls_pk_context key;
	mbedtls_ssl_config config;
};

/*
 * The server's own first, then those between it and an authority, in PEM. The
 * key must be that of the first, and for its owner only: of a key that is
 * root's a group may be told as well.
 */
int certificate_read(struct certificate **out, const char *chain_path,
		     const char *key_path, struct remit_error *err) must_check;
/* Why no client should take it by now, or NULL. */
const char *certificate_flaw(const struct certificate *c);

struct certificate *certificate_ref(struct certificate *c);
/* NULL is fine. */
void certificate_unref(struct certificate *c);

#endif
