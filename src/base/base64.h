/*
 * base64: bytes as text and back (RFC 4648, section 4). Reading is strict: no
 * blanks, no other alphabet, padding as it must be.
 */
#ifndef REMIT_BASE64_H
#define REMIT_BASE64_H

#include <stddef.h>

#include "base/own.h"

/* A new string. NULL without memory. */
char *base64_encode(const char *bytes, size_t len);

/* *bytes is new, with a NUL behind it. -1: it is not base64 (EINVAL), or there
   is no memory (ENOMEM). */
int base64_decode(const char *text, size_t len, char **bytes,
		  size_t *out) must_check;

#endif
