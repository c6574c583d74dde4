/*
 * run_options: the command line of `remit run`.
 */
#ifndef REMIT_RUN_OPTIONS_H
#define REMIT_RUN_OPTIONS_H

#include "cli/tool_command.h"
#include "policy/fields/flags.h"

struct run_options {
	bool json, raw, ask, dry_run, value;
	const char *code;      /* -c */
	const char *script;    /* FILE or - */
	const char *artifacts; /* the directory, or NULL */
	const char *displays;  /* the directory, or NULL */
	const char *audit;     /* the file, or NULL */
	struct remit_file *files;
	size_t file_count;
	struct tool_options tools;
	char **args; /* of the program */
	struct flags flags;
};

extern const struct option run_option_rows[];

/* Fails unless the command line names a program. */
int run_options_program(const struct run_options *o,
			struct remit_error *err) must_check;
/* Change the policy as the options demand. */
int run_options_apply(const struct run_options *o, struct policy *p,
		      struct remit_error *err) must_check;
/* Check combinations of options: --export and --artifacts need each other, and
   --ask excludes the options for programs. */
int run_options_check(const struct run_options *o, const struct policy *p,
		      struct remit_error *err) must_check;
void run_options_free(struct run_options *o);

#endif
