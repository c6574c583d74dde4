/*
 * job_files: send the input files of a job to the keeper, from memory or from
 * the caller's disk.
 */
#ifndef REMIT_JOB_FILES_H
#define REMIT_JOB_FILES_H

#include "wire/link.h"

int job_files_send(struct link *l, const struct remit_job *job,
		   struct remit_error *err) must_check;

#endif
