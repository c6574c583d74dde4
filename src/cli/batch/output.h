/*
 * batch_output: the file for results, and the results of an earlier batch in
 * it. Each line is written whole, so that the file is valid whenever a batch is
 * killed.
 */
#ifndef REMIT_BATCH_OUTPUT_H
#define REMIT_BATCH_OUTPUT_H

#include "cli/batch/ids.h"
#include "cli/batch/job.h"
#include "cli/batch/result.h"

enum batch_output_mode {
	BATCH_OUTPUT_NEW,    /* refuse a file that is not empty */
	BATCH_OUTPUT_RESUME, /* append to the results */
	BATCH_OUTPUT_FORCE,  /* empty the file */
};

struct batch_output {
	int fd;
	const char *name; /* borrowed; for messages */
};

/* Open and lock the file, or use standard output if `path` is NULL. Fails if it
   is the file that is open as `input`. The ids of all results in the file are
   added to *done. */
int batch_output_open(struct batch_output *o, const char *path,
		      enum batch_output_mode mode, int input,
		      struct batch_ids *done,
		      struct remit_error *err) must_check;
/* Write a line. If that fails, a regular file has no part of it. */
int batch_output_write(const struct batch_output *o, const struct buf *line,
		       struct remit_error *err) must_check;
void batch_output_free(struct batch_output *o);

/* Returns true if the job has a result. Invalid lines are identified by their
   number: another job may have the id, and a corrected line is to run. */
bool batch_resume_is_done(const struct batch_ids *done,
			  const struct batch_job *j);

#endif
