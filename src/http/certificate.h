/*
 * certificate: the certificate chain and private key that a server uses for
 * TLS. They are read before the server starts, and again on a reload;
 * connections that began with the old pair keep it.
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
 * Reads two PEM files: a chain that begins with the server's certificate, and
 * the key of that certificate. Refuses a key file that others can access; if
 * root owns it, its group may read it. Returns -1 with an error if a file
 * cannot be read or the two do not match.
 */
int certificate_read(struct certificate **out, const char *chain_path,
		     const char *key_path, struct remit_error *err) must_check;
/* Returns why clients will reject the certificate at this time, or NULL. */
const char *certificate_flaw(const struct certificate *c);

struct certificate *certificate_ref(struct certificate *c);
/* Accepts NULL. */
void certificate_unref(struct certificate *c);

#endif
