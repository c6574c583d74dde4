/*
 * artifacts: writes the files that a keeper sends into a directory of the
 * caller.
 *
 * Files are created with the caller's rights, readable by the caller only
 * (0600), and only below the directory: each path component is opened by
 * descriptor and must not be a symbolic link. A file gets its name when it is
 * complete. Existing files are never replaced.
 */
#ifndef REMIT_ARTIFACTS_H
#define REMIT_ARTIFACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct artifacts {
	int directory;	 /* -1: artifacts were not requested */
	char *host_path; /* the directory, as an absolute path */
	/* the file that is arriving: */
	int parent, file; /* -1: the file is not written */
	char *path;	  /* NULL: no file is arriving */
	char temporary[32];
	uint64_t size_bytes, left_bytes;
	const char *type;
	/* all files so far: */
	json_t *made, *skipped;
};

#define ARTIFACTS_INIT           \
	{                        \
		.directory = -1, \
		.parent = -1,    \
		.file = -1,      \
	}

/* Decides whether an arriving file is written. If admits() returns false, the
   file is skipped. */
struct artifacts_gate {
	bool (*admits)(void *user, const char *path, uint64_t size_bytes);
	void *user;
};

/* Set the gate for all files that the calling thread receives. The caller keeps
   ownership. NULL: write all files. */
void artifacts_use_gate(const struct artifacts_gate *gate);

/* Open the directory, and create it if only its last part is missing. */
int artifacts_open(struct artifacts *a, const char *directory,
		   struct remit_error *err) must_check;
/* Receive the payloads of the frames "artifact" and "artifact_data". */
int artifacts_begin(struct artifacts *a, const char *payload, size_t len,
		    struct remit_error *err) must_check;
int artifacts_add(struct artifacts *a, const char *bytes, size_t len,
		  struct remit_error *err) must_check;
/* Add the written and the skipped files to a result. `a` may be NULL. */
int artifacts_report(struct artifacts *a, json_t *result,
		     struct remit_error *err) must_check;
void artifacts_free(struct artifacts *a);

#endif
