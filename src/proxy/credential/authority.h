/*
 * authority: a certificate authority for one jail, made when its proxy starts.
 *
 * It signs one certificate for each host whose TLS the proxy ends itself, and
 * then its key is destroyed: nobody can sign another. Its own certificate goes
 * into that jail, behind those that the host trusts.
 */
#ifndef REMIT_AUTHORITY_H
#define REMIT_AUTHORITY_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>

#include "base/own.h"

#define AUTHORITY_PEM 2048

/* What a proxy shows to the code as its certificates. */
struct authority {
	mbedtls_pk_context key; /* of all of them */
	mbedtls_pk_context root_key;
	char root[AUTHORITY_PEM]; /* as text */
};

/* A new one; -1 if it could not be made. */
int authority_make(struct authority *a) must_check;
/* A certificate for exactly this name. */
int authority_sign(struct authority *a, const char *host,
		   mbedtls_x509_crt *out) must_check;
/* From now on there are no others. */
void authority_close(struct authority *a);

/* ---- the certificate authorities that the host trusts ---- */

/* Where they lie; NULL if there is no such file. */
const char *trust_path(void);
/* All of them as text, with their length; NULL if they cannot be read. */
char *trust_read(size_t *len);

#endif
