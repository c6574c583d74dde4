/*
 * sha256: a fingerprint that nobody can forge (FIPS 180-4), for audits.
 */
#ifndef REMIT_SHA256_H
#define REMIT_SHA256_H

#include <stddef.h>

/* 64 hexadecimal digits and a NUL. */
#define SHA256_TEXT 65

void sha256_text(const void *bytes, size_t len, char out[SHA256_TEXT]);

#endif
