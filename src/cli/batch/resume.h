/*
 * batch_resume: what an earlier batch has finished, read from its results.
 */
#ifndef REMIT_BATCH_RESUME_H
#define REMIT_BATCH_RESUME_H

#include "cli/batch/ids.h"
#include "cli/batch/job.h"

/*
 * Add what has a result in the file to *done. A last line without its newline
 * is cut off: the batch ended while it was written. Nothing is cut and -1
 * returned if a line is not a result.
 */
int batch_resume_read(int fd, const char *name, struct batch_ids *done,
		      struct remit_error *err) must_check;

/* Whether a job has its result. A line that is no job is known by its number:
   another may have its id, and it is run once it was put right. */
bool batch_resume_is_done(const struct batch_ids *done,
			  const struct batch_job *j);

#endif
