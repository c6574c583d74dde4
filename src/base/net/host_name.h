/*
 * host_name: host names in one form (lower case, no dot at the end), so that
 * comparing, looking up and showing always use the same bytes.
 */
#ifndef REMIT_HOST_NAME_H
#define REMIT_HOST_NAME_H

#include <stdbool.h>

#include "base/own.h"

/* The size of the longest name, with its NUL (RFC 1035, 2.3.4). */
#define HOST_NAME_SIZE 254

/*
 * Parses a host name. Returns -1 unless it consists of labels of 1 to 63
 * letters, digits, '-' and '_', and the last label is not a number. So an
 * address is never a name, however it is written (127.1, 0x7f000001,
 * 2130706433).
 */
int host_name_read(const char *bytes, size_t len,
		   char out[HOST_NAME_SIZE]) must_check;

/* Whether `name` is below `parent`, as a.example.org is below example.org. */
bool host_name_is_below(const char *name, const char *parent);

#endif
