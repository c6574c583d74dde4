/*
 * bench_program: the programs that are measured. All ways to run one run the
 * same text.
 */
#ifndef REMIT_BENCH_PROGRAM_H
#define REMIT_BENCH_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct bench_program {
	const char *name; /* its section of the report */
	const char *code;
	const char *output;   /* what it must print */
	const char *preset;   /* of the policy */
	const char *exported; /* a pattern for files that leave, or NULL */
	const char
		*write_root; /* a directory it may change, at /data, or NULL */
	const char *preload[4]; /* modules it imports, NULL-terminated */
	bool quick;		/* is measured with --quick too */
};

extern const struct bench_program bench_programs[]; /* ends without a name */

/* Its policy for this interpreter as JSON: a new string. */
int bench_program_policy(const struct bench_program *p, const char *python,
			 char **out, struct remit_error *err) must_check;
/* What it imports, as flags of `remit run`. */
int bench_program_preload(const struct bench_program *p, struct list *out,
			  struct remit_error *err) must_check;

#endif
