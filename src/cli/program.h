/*
 * program: reads the text of a program from the command line, a file or
 * standard input.
 */
#ifndef REMIT_PROGRAM_H
#define REMIT_PROGRAM_H

#include "base/buf.h"
#include "base/error.h"

#define PROGRAM_MAX ((size_t)64 * 1024 * 1024)

/* Read `code` if it is not NULL, else the file. "-" is standard input. */
int program_read(struct buf *out, const char *code, const char *path,
		 struct remit_error *err) must_check;
/* Returns the name for tracebacks: the last part of the path, or NULL for
   standard input. */
const char *program_name(const char *path);

#endif
