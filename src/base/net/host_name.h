/*
 * host_name: names of hosts in one form, so that what is compared, looked up
 * and shown is always the same bytes: lower case, no dot at the end.
 */
#ifndef REMIT_HOST_NAME_H
#define REMIT_HOST_NAME_H

#include <stdbool.h>

#include "base/own.h"

/* The longest name with its NUL (RFC 1035, 2.3.4). */
#define HOST_NAME_SIZE 254

/*
 * -1 if it is no name: letters, digits, '-' and '_' in labels of 1 to 63 bytes,
 * and the last one is no number. So no address is ever a name, however it is
 * written (127.1, 0x7f000001, 2130706433).
 */
int host_name_read(const char *bytes, size_t len,
		   char out[HOST_NAME_SIZE]) must_check;

/* True if `name` lies below `parent`: a.example.org below example.org. */
bool host_name_is_below(const char *name, const char *parent);

#endif
