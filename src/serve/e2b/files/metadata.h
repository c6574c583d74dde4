/*
 * e2b_metadata: what clients attach to files with the headers
 * "X-Metadata-NAME". The server keeps it by the identity of the file, so it
 * stays with a file that the code renames. It is lost when the file is removed,
 * or its jail ends.
 */
#ifndef REMIT_E2B_METADATA_H
#define REMIT_E2B_METADATA_H

#include "serve/e2b/part.h"

/* Parses the headers of a request: a new object of strings, empty without such
   headers. Returns NULL after it has sent an error. */
json_t *metadata_read(struct exchange *x);
/* Replaces the metadata of a file. Returns -1 if the sandbox has too much. */
int metadata_set(struct sandbox *sb, const struct remit_file_entry *file,
		 json_t *values) must_check;
/* Adds the member "metadata" to the description of a file that has some. */
void metadata_add(json_t *doc, struct sandbox *sb,
		  const struct remit_file_entry *file);
/* Forgets what is known of a removed file and of those below it. */
void metadata_forget(struct sandbox *sb, const char *path);
/* Frees the metadata of all files. */
void metadata_free(struct metadata *first);

#endif
