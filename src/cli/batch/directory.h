/*
 * batch_directory: the directory for the artifacts of one job of a batch, named
 * after the job's id.
 *
 * The directory contains a marker until the job's result is written. If a
 * marker is found, the job had no result: its files are removed before it runs
 * again. A directory that is not empty and has no marker is not changed.
 */
#ifndef REMIT_BATCH_DIRECTORY_H
#define REMIT_BATCH_DIRECTORY_H

#include "base/buf.h"
#include "base/error.h"

/* The longest name of a file, with its NUL. */
#define BATCH_DIRECTORY_NAME 256

/*
 * Make the name for an id (JSON: 7 or "seven"). Different ids have different
 * names. A name consists of letters, digits and "_-.%", and does not begin with
 * "-" or ".". Returns -1 if the id is neither a string nor an integer.
 */
int batch_directory_name(const char *id,
			 char out[BATCH_DIRECTORY_NAME]) must_check;

/* Create the directory of a job below `top`, or empty it if it has a marker.
 *out is its path, a new string. */
int batch_directory_begin(const char *top, const char *id, char **out,
			  struct remit_error *err) must_check;
/* Empty the directory for a second run of the job. */
int batch_directory_again(const char *path, struct remit_error *err) must_check;
/* Remove the marker, once the result is written. An empty directory is
   removed. */
void batch_directory_end(const char *path);

#endif
