/*
 * error: how a function reports a failure. Always use `return fail(...)`: it
 * returns -1, and *err states what was tried, on what, and why it failed.
 */
#ifndef REMIT_ERROR_H
#define REMIT_ERROR_H

#include <stddef.h>

#include "base/own.h"
#include "remit.h"

/* Fills *err and returns -1. */
int fail(struct remit_error *err, enum remit_code code, const char *fmt, ...)
	printf_like(3, 4);

/* Like fail(), and appends the text of errno to the message. */
int fail_sys(struct remit_error *err, enum remit_code code, const char *fmt,
	     ...) printf_like(3, 4);

/* Reports that `what` could not be allocated, or did not fit (as errno
   says). */
int fail_memory(struct remit_error *err, const char *what);

/* Refuses a policy, with the field, the reason and the remedy ("" for none). */
int fail_refused(struct remit_error *err, const char *field, const char *remedy,
		 const char *fmt, ...) printf_like(4, 5);

/* Prefixes the message of a called function with "<text>: ". */
int fail_within(struct remit_error *err, const char *fmt, ...)
	printf_like(2, 3);

/* Exit codes of commands: wrong arguments; refused or failed. */
#define EXIT_MISUSE  2
#define EXIT_REFUSED 125

/* Prints "remit: message" and the remedy to stderr. Returns the exit code. */
int error_print(const struct remit_error *err);

/*
 * Untrusted text inside a message. Control characters become '?', so that a
 * policy cannot write escape sequences to the terminal that shows the error.
 * Long text is cut between characters.
 */

/* Enough for 60 bytes of text, the quotes and the dots. */
#define QUOTE_SIZE 68

/* Writes the text in double quotes, and returns out. */
const char *quote(char out[QUOTE_SIZE], const char *text);

/* Like quote(), but without quotes and with at most size - 1 bytes. */
const char *quote_bare(char *out, size_t size, const char *text);

#endif
