/*
 * program: the text of a program, from the command line, a file or standard
 * input.
 */
#ifndef REMIT_PROGRAM_H
#define REMIT_PROGRAM_H

#include "base/buf.h"
#include "base/error.h"

#define PROGRAM_MAX ((size_t)64 * 1024 * 1024)

/* `code` itself if there is one; else the file, which may be "-". */
int program_read(struct buf *out, const char *code, const char *path,
		 struct remit_error *err) must_check;
/* What tracebacks call it: the file's own name, or NULL. */
const char *program_name(const char *path);

#endif
