/*
 * error: how a function says that it failed. Always `return fail(...)`: the
 * result is -1, and *err says what was tried, on what, and why it failed.
 */
#ifndef REMIT_ERROR_H
#define REMIT_ERROR_H

#include <stddef.h>

#include "base/own.h"
#include "remit.h"

/* Fill *err and return -1. */
int fail(struct remit_error *err, enum remit_code code, const char *fmt, ...)
	printf_like(3, 4);

/* The same, with errno's text behind the message. */
int fail_sys(struct remit_error *err, enum remit_code code, const char *fmt,
	     ...) printf_like(3, 4);

/* There is no memory for something, or (by errno) no room. */
int fail_memory(struct remit_error *err, const char *what);

/* Refuse a policy: which field, why, and what would help ("" if nothing). */
int fail_refused(struct remit_error *err, const char *field, const char *remedy,
		 const char *fmt, ...) printf_like(4, 5);

/* Put "<text>: " before a message that a deeper function has written. */
int fail_within(struct remit_error *err, const char *fmt, ...)
	printf_like(2, 3);

/* Exit codes of commands: the caller's mistake; what Remit refuses, or cannot
   do. */
#define EXIT_MISUSE  2
#define EXIT_REFUSED 125

/* Print "remit: message" and the remedy to stderr; returns the exit code. */
int error_print(const struct remit_error *err);

/*
 * Foreign text inside a message. Control characters become '?', so that a
 * policy cannot write escape sequences to the terminal that shows the error,
 * and long text is cut between characters.
 */

/* Enough for 60 bytes of text, the quotes and the dots. */
#define QUOTE_SIZE 68

/* Writes "text" with its quotes, and returns out. */
const char *quote(char out[QUOTE_SIZE], const char *text);

/* Copies at most size - 1 bytes without quotes, and returns out. */
const char *quote_bare(char *out, size_t size, const char *text);

#endif
