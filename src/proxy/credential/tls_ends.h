/*
 * tls_ends: what a proxy needs to terminate the TLS of code and to start TLS to
 * the host, for the hosts of a policy's credentials. All of it, including
 * memory, is prepared before the proxy locks itself: it cannot get more
 * afterwards.
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
	/* Parallel to the vault's rows. */
	struct tls_end {
		bool is_used; /* an entry with TLS uses it */
		mbedtls_ssl_config to_code;
		mbedtls_x509_crt certificate;
	} rows[CREDENTIALS_MAX];
};

/* Whether any of the credentials is for an entry with TLS. */
bool tls_ends_wanted(const struct vault *v, const struct host_rules *rules);
/*
 * Create them. *file gets all authorities that code in this jail must trust:
 * the host's, and the one that has signed these certificates. Returns NULL on
 * failure.
 */
struct tls_ends *tls_ends_make(const struct vault *v,
			       const struct host_rules *rules, int *file);

#endif
