/*
 * artifacts: write the files that a keeper sends into a directory of the
 * caller.
 *
 * They are made with the caller's own rights, for the caller only (0600), and
 * only below the directory: each step goes by descriptor and through no link. A
 * file gets its name when it is whole. What is there already stays as it is.
 */
#ifndef REMIT_ARTIFACTS_H
#define REMIT_ARTIFACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct artifacts {
	int directory;	 /* -1: none is wanted */
	char *host_path; /* of the directory, absolute */
	/* of the file that comes: */
	int parent, file; /* -1: it is not written */
	char *path;	  /* NULL: none comes */
	char temporary[32];
	uint64_t size_bytes, left_bytes;
	const char *type;
	/* of all: */
	json_t *made, *skipped;
};

#define ARTIFACTS_INIT           \
	{                        \
		.directory = -1, \
		.parent = -1,    \
		.file = -1,      \
	}

/* Asked before each file that comes is written. False: it is skipped. */
struct artifacts_gate {
	bool (*admits)(void *user, const char *path, uint64_t size_bytes);
	void *user;
};

/* For all files that the calling thread takes from now on. The gate stays the
   caller's; NULL: all are written. */
void artifacts_use_gate(const struct artifacts_gate *gate);

/* The directory is made if only its last part is missing. */
int artifacts_open(struct artifacts *a, const char *directory,
		   struct remit_error *err) must_check;
/* From the payloads of "artifact" and "artifact_data". */
int artifacts_begin(struct artifacts *a, const char *payload, size_t len,
		    struct remit_error *err) must_check;
int artifacts_add(struct artifacts *a, const char *bytes, size_t len,
		  struct remit_error *err) must_check;
/* Put what was made, and what could not be, into a result. NULL: no run was to
   make any. */
int artifacts_report(struct artifacts *a, json_t *result,
		     struct remit_error *err) must_check;
void artifacts_free(struct artifacts *a);

#endif
