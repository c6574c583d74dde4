/*
 * tls_ends: what a proxy needs to end the TLS of code and begin its own, for
 * the hosts of a policy's credentials. All of it is made before the proxy
 * locks itself; memory for it too, since later there is none to be had.
 */
#ifndef REMIT_TLS_ENDS_H
#define REMIT_TLS_ENDS_H

#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include "base/own.h"
#include "policy/rules/host_rule.h"
#include "proxy/credential/vault.h"

struct tls_ends {
	mbedtls_ssl_config to_host;
	mbedtls_x509_crt trusted;
	mbedtls_pk_context key;
	/* As the vault's rows. */
	struct tls_end {
		bool is_used; /* an entry with TLS is for it */
		mbedtls_ssl_config to_code;
		mbedtls_x509_crt certificate;
	} rows[CREDENTIALS_MAX];
};

/* Whether any of the credentials is for an entry with TLS. */
bool tls_ends_wanted(const struct vault *v, const struct host_rules *rules);
/*
 * New ones, and *file with all authorities that code in this jail shall trust:
 * the host's, and the one that has signed these. NULL if that cannot be.
 */
struct tls_ends *tls_ends_make(const struct vault *v,
			       const struct host_rules *rules, int *file);

#endif
