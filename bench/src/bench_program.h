/*
 * bench_program: the programs that the bench runs. All peers run the same text.
 */
#ifndef REMIT_BENCH_PROGRAM_H
#define REMIT_BENCH_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct bench_program {
	const char *name; /* its section of the report */
	const char *code;
	const char *output;	/* what it must print */
	const char *preset;	/* the preset of the policy */
	const char *exported;	/* a pattern for exported files, or NULL */
	const char *write_root; /* a directory of the host, mounted read-write
				   at /data, or NULL */
	const char *preload[4]; /* modules it imports, NULL-terminated */
	bool quick;		/* also measured with --quick */
};

extern const struct bench_program
	bench_programs[]; /* ends with a row without a name */

/* Write the policy for this interpreter as JSON into a new string. */
int bench_program_policy(const struct bench_program *p, const char *python,
			 char **out, struct remit_error *err) must_check;
/* Add its modules as flags of `remit run`. */
int bench_program_preload(const struct bench_program *p, struct list *out,
			  struct remit_error *err) must_check;

#endif
