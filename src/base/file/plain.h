/*
 * plain: paths that may be made outside of a jail by a name from inside.
 *
 * A plain path is relative, and each of its names is UTF-8 without control
 * characters, is not "." or "..", does not begin with a dash (a command would
 * take it for an option) and is at most 255 bytes long.
 */
#ifndef REMIT_PLAIN_H
#define REMIT_PLAIN_H

#include <stdbool.h>

/* With its NUL. */
#define PLAIN_PATH_SIZE 4096

bool plain_name(const char *name);
bool plain_path(const char *path);

#endif
