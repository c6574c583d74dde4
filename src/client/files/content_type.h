/*
 * content_type: what a file that code made seems to be. By its first bytes if
 * they are a known mark, else by its name if it is text; a guess for those who
 * show it, nothing to rely on.
 */
#ifndef REMIT_CONTENT_TYPE_H
#define REMIT_CONTENT_TYPE_H

#include <stddef.h>

const char *content_type(const char *path, const char *first, size_t len);

#endif
