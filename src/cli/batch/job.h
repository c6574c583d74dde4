/*
 * batch_job: parses one line of a batch.
 *
 *	{"id": "a", "code": "print(1)", "name": "a.py", "argv": ["x"],
 *	 "stdin": "text", "files": [{"local": "a.csv", "path": "in/a.csv"}],
 *	 "policy": {"timeout": "5s"}}
 *
 * Only "code" is required. An invalid line becomes a job too, whose result
 * states the error.
 */
#ifndef REMIT_BATCH_JOB_H
#define REMIT_BATCH_JOB_H

#include "policy/policy.h"

#define BATCH_JOB_ID_MAX 256

struct batch_job {
	char *id;      /* as JSON: 7 or "seven"; by default the line's number */
	uint64_t line; /* the number of the line */
	bool is_bad;   /* the line is invalid, for the reason in `why` */
	struct remit_error why;
	struct remit_job run; /* borrows from what follows */
	json_t *doc;
	const char **argv;
	struct remit_file *files;
	bool exports; /* the policy exports files */
	char *policy; /* the complete policy, if the job changes it; or NULL */
};

/* Fill *j from a line. `base` is the policy that the job may change. Returns -1
   without memory; an invalid line is a job with is_bad. */
int batch_job_parse(struct batch_job *j, const char *text, size_t len,
		    uint64_t line, const struct policy *base,
		    struct remit_error *err) must_check;
/* Fill *j for a line that could not be read. */
int batch_job_init(struct batch_job *j, uint64_t line,
		   struct remit_error *err) must_check;
/* Mark the job as invalid. Its message becomes "line N: " and why->message. */
void batch_job_refuse(struct batch_job *j, const struct remit_error *why);
void batch_job_free(struct batch_job *j);

/* Write a policy as JSON into a new string. */
int batch_job_policy(char **out, const struct policy *p,
		     struct remit_error *err) must_check;

#endif
