/*
 * quote: foreign text inside a message. Control characters become '?', so
 * that a policy cannot write escape sequences to the terminal that shows the
 * error, and long text is cut between characters.
 */
#ifndef REMIT_QUOTE_H
#define REMIT_QUOTE_H

#include <stddef.h>

/* Enough for 60 bytes of text, the quotes and the dots. */
#define QUOTE_SIZE 68

/* Writes "text" with its quotes, and returns out. */
const char *quote(char out[QUOTE_SIZE], const char *text);

/* Copies at most size - 1 bytes without quotes, and returns out. */
const char *quote_bare(char *out, size_t size, const char *text);

#endif
