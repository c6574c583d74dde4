/*
 * bench_request: the command line of `remit bench`.
 */
#ifndef REMIT_BENCH_REQUEST_H
#define REMIT_BENCH_REQUEST_H

#include "policy/fields/options.h"

struct bench_request {
	uint64_t rounds;    /* 0: the default */
	bool quick;	    /* fewer peers and sizes */
	const char *only;   /* a pattern for sections, or NULL */
	const char *python; /* NULL: the interpreter of the policy */
	const char *json;   /* a file to write, or NULL */
};

/* The options of `remit bench`, whose target is a struct bench_request.
   remit-bench parses them; the command remit needs them for its help. */
extern const struct option bench_request_rows[];

#endif
