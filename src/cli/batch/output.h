/*
 * batch_output: where results go, and what an earlier batch has finished, read
 * from its results. Every line is written whole, so that what is there is good
 * whenever a batch is ended.
 */
#ifndef REMIT_BATCH_OUTPUT_H
#define REMIT_BATCH_OUTPUT_H

#include "cli/batch/ids.h"
#include "cli/batch/job.h"
#include "cli/batch/result.h"

enum batch_output_mode {
	BATCH_OUTPUT_NEW,    /* a file with something in it is refused */
	BATCH_OUTPUT_RESUME, /* add to what is there */
	BATCH_OUTPUT_FORCE,  /* drop what is there */
};

struct batch_output {
	int fd;
	const char *name; /* borrowed; for messages */
};

/* Open a file that no other batch writes to, or standard output if `path` is
   NULL. It must not be the file that is open as `input`. *done gets what
   has its result in it. */
int batch_output_open(struct batch_output *o, const char *path,
		      enum batch_output_mode mode, int input,
		      struct batch_ids *done,
		      struct remit_error *err) must_check;
/* On failure nothing of the line is left in a regular file. */
int batch_output_write(const struct batch_output *o, const struct buf *line,
		       struct remit_error *err) must_check;
void batch_output_free(struct batch_output *o);

/* Whether a job has its result. A line that is no job is known by its number:
   another may have its id, and it is run once it was put right. */
bool batch_resume_is_done(const struct batch_ids *done,
			  const struct batch_job *j);

#endif
