/*
 * e2b_multipart: the files of a form (RFC 7578), as browsers and clients write
 * it. The body is in memory: what is found are places in it.
 */
#ifndef REMIT_E2B_MULTIPART_H
#define REMIT_E2B_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"

#define MULTIPART_FILES_MAX 256

struct multipart_file {
	char *filename; /* "" if there is none */
	const char *bytes;
	size_t len;
};

struct multipart {
	struct multipart_file files[MULTIPART_FILES_MAX];
	size_t count;
};

/* The boundary of a Content-Type; false: it is another type, or has none. */
bool multipart_boundary(const char *type, size_t len, char out[80]);
/* -1: the body is not well written, has too many files, or there is no memory.
   What was found must be freed in any case. */
int multipart_read(struct multipart *m, const char *body, size_t len,
		   const char *boundary) must_check;
void multipart_free(struct multipart *m);

#endif
