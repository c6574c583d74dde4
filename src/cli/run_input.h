/*
 * run_input: the standard input of a run that may be run again. A terminal is
 * typed at again, a file is read again, and what comes through a pipe is read
 * to its end beforehand.
 */
#ifndef REMIT_RUN_INPUT_H
#define REMIT_RUN_INPUT_H

#include "base/buf.h"
#include "base/error.h"

struct run_input {
	struct buf bytes; /* of a pipe */
	bool kept;	  /* `bytes` are the input */
	bool rewinds;
	off_t start; /* where the file was when we got it */
};

/* Look at descriptor 0. More than max_bytes through a pipe is an error. */
int run_input_open(struct run_input *in, size_t max_bytes,
		   struct remit_error *err) must_check;
/* Before each run. */
int run_input_give(const struct run_input *in, struct remit_job *job,
		   struct remit_error *err) must_check;
void run_input_free(struct run_input *in);

#endif
