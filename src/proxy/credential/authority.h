/*
 * authority: a certificate authority for one jail, created when its proxy
 * starts.
 *
 * It signs one certificate for each host whose TLS the proxy terminates. Then
 * its key is destroyed, so no other certificate can be signed. Its own
 * certificate goes into that jail, after those that the host trusts.
 */
#ifndef REMIT_AUTHORITY_H
#define REMIT_AUTHORITY_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>

#include "base/own.h"

#define AUTHORITY_PEM 2048

/* The certificates that a proxy presents to the code. */
struct authority {
	mbedtls_pk_context key; /* of all the certificates it signs */
	mbedtls_pk_context root_key;
	char root[AUTHORITY_PEM]; /* its certificate as PEM text */
};

/* Create a new authority. Returns -1 on failure. */
int authority_make(struct authority *a) must_check;
/* Sign a certificate for exactly this host name. Returns -1 on failure. */
int authority_sign(struct authority *a, const char *host,
		   mbedtls_x509_crt *out) must_check;
/* Destroy the key: no further certificates can be signed. */
void authority_close(struct authority *a);

/* ---- the certificate authorities that the host trusts ---- */

/* The file that contains them, or NULL if there is none. */
const char *trust_path(void);
/* Read all of them as text. Returns NULL if they cannot be read. The caller
   frees the text; *len is its length. */
char *trust_read(size_t *len);

#endif
