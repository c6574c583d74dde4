/*
 * batch_options: the arguments of `remit batch`.
 */
#ifndef REMIT_BATCH_OPTIONS_H
#define REMIT_BATCH_OPTIONS_H

#include "policy/fields/flags.h"

struct batch_options {
	bool unordered, resume, force, quiet;
	uint64_t threads;   /* -j, or as many as there are processors */
	const char *output; /* NULL: standard output */
	const char *input;  /* NULL or "-": standard input */
	const char *audit;  /* NULL: none */
	const char *
		artifacts; /* the directory of the jobs' directories, or NULL */
	struct flags flags;
};

extern const struct option batch_option_rows[];

/* Fill in what was not given, and check what was. */
int batch_options_settle(struct batch_options *o,
			 struct remit_error *err) must_check;
/* What leaves a jail needs a place. */
int batch_options_check(const struct batch_options *o, const struct policy *p,
			struct remit_error *err) must_check;
void batch_options_free(struct batch_options *o);

#endif
