/*
 * trust: the certificate authorities that the host trusts.
 */
#ifndef REMIT_TRUST_H
#define REMIT_TRUST_H

#include "base/error.h"

/* Where they lie; NULL if there is no such file. */
const char *trust_path(void);
/* All of them as text, with their length; NULL if they cannot be read. */
char *trust_read(size_t *len);

#endif
