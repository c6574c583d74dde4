/*
 * batch_job: one line of a batch, taken apart.
 *
 *	{"id": "a", "code": "print(1)", "name": "a.py", "argv": ["x"],
 *	 "stdin": "text", "files": [{"local": "a.csv", "path": "in/a.csv"}],
 *	 "policy": {"timeout": "5s"}}
 *
 * Only the code must be there. A line that is no job is a value too: it gets
 * a result, which says what is wrong with it.
 */
#ifndef REMIT_BATCH_JOB_H
#define REMIT_BATCH_JOB_H

#include "policy/policy.h"

#define BATCH_JOB_ID_MAX 256

struct batch_job {
	char *id;      /* as JSON: 7 or "seven"; the line's number if it has
			  none */
	uint64_t line; /* its number */
	bool is_bad;   /* it is no job, and `why` says why not */
	struct remit_error why;
	struct remit_job run; /* borrows from what follows */
	json_t *doc;
	const char **argv;
	struct remit_file *files;
	bool exports; /* files may leave its jail */
	char *policy; /* the whole document, if the job has one of its own */
};

/* Fill *j from a line; `base` is what the job's policy changes. -1: no
   memory. */
int batch_job_parse(struct batch_job *j, const char *text, size_t len,
		    uint64_t line, const struct policy *base,
		    struct remit_error *err) must_check;
/* Fill *j for a line that could not even be read. */
int batch_job_init(struct batch_job *j, uint64_t line,
		   struct remit_error *err) must_check;
/* It is no job after all; why->message goes behind "line N: ". */
void batch_job_refuse(struct batch_job *j, const struct remit_error *why);
void batch_job_free(struct batch_job *j);

/* A policy as the document that a run is given, a new string. */
int batch_job_policy(char **out, const struct policy *p,
		     struct remit_error *err) must_check;

#endif
