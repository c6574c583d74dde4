/*
 * batch_directory: the directory of one job of a batch, for its artifacts,
 * named after its id.
 *
 * A marker lies in it until the job's result is written: what a job left there
 * that has no result is removed before the job is run again. A directory that
 * has something in it and no marker is somebody else's, and is not touched.
 */
#ifndef REMIT_BATCH_DIRECTORY_H
#define REMIT_BATCH_DIRECTORY_H

#include "base/buf.h"
#include "base/error.h"

/* With its NUL: what a file may be called. */
#define BATCH_DIRECTORY_NAME 256

/*
 * The name for an id (JSON: 7 or "seven"). No two ids have the same, and each
 * has only letters, digits and "_-.%", with "-" and "." not at the beginning.
 */
int batch_directory_name(const char *id,
			 char out[BATCH_DIRECTORY_NAME]) must_check;

/* Make the directory of a job below `top`, or empty it if it was begun before.
 * out is a new string. */
int batch_directory_begin(const char *top, const char *id, char **out,
			  struct remit_error *err) must_check;
/* Once more: the first run came to nothing. */
int batch_directory_again(const char *path, struct remit_error *err) must_check;
/* The result is written. A directory with nothing in it goes. */
void batch_directory_end(const char *path);

#endif
