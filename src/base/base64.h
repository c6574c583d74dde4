/*
 * base64: text back into bytes (RFC 4648, section 4). Strict: no blanks, no
 * other alphabet, padding as it must be.
 */
#ifndef REMIT_BASE64_H
#define REMIT_BASE64_H

#include <stddef.h>

#include "own.h"

/* *bytes is new, with a NUL behind it. -1: it is not base64 (EINVAL), or there
   is no memory (ENOMEM). */
int base64_decode(const char *text, size_t len, char **bytes,
		  size_t *out) must_check;

#endif
