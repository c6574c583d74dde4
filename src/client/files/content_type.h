/*
 * content_type: guesses the type of a file that code made: by its first bytes
 * if they are a known mark, else by its name if it is text. Use it only for
 * display: the code controls both.
 */
#ifndef REMIT_CONTENT_TYPE_H
#define REMIT_CONTENT_TYPE_H

#include <stddef.h>

const char *content_type(const char *path, const char *first, size_t len);

#endif
