/*
 * e2b_multipart: finds the files in a form (RFC 7578), as browsers and clients
 * write it. The results point into the body, which is in memory.
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

/* Returns the boundary of a Content-Type. Returns false for other types, or
   without a boundary. */
bool multipart_boundary(const char *type, size_t len, char out[80]);
/* Returns -1 if the body is malformed, has too many files, or if memory is
   exhausted. The caller must free `m` in any case. */
int multipart_read(struct multipart *m, const char *body, size_t len,
		   const char *boundary) must_check;
void multipart_free(struct multipart *m);

#endif
