/*
 * cli: the remit command. A table of commands, one file each.
 */
#ifndef REMIT_CLI_H
#define REMIT_CLI_H

#include "policy/fields/flags.h"
#include "policy/fields/options.h"

struct run_displays;

struct command {
	struct options options;
	bool hidden;
	int (*run)(int argc, char **argv); /* argv[0] is the command */
	/* Subcommands, such as "packages list"; NULL-terminated. Without a
	   second word the first one runs. NULL if the command has none. */
	const struct command *const *verbs;
};

/* The commands' rows, each in the file of the command. */
extern const struct command command_run, command_repl, command_check,
	command_batch, command_policy, command_explain, command_matrix,
	command_doctor, command_bench, command_keeper, command_completion,
	command_man, command_logs, command_packages, command_proxy_launcher,
	command_status, command_instructions, command_serve, command_mcp;
extern const struct command *const commands[]; /* NULL-terminated */

/* The exit code for wrong usage. */
#define CLI_MISUSE EXIT_MISUSE
/* The exit code if Remit refuses, or fails. */
#define CLI_FAILED EXIT_REFUSED

/* Print "remit: MESSAGE" and the remedy to stderr. Returns CLI_MISUSE for
   REMIT_E_INPUT, else CLI_FAILED. */
int cli_error(const struct remit_error *err);
/* Parse a command line into *target, as options_parse() does. */
int cli_parse(const struct command *c, void *target, int argc, char **argv,
	      struct remit_error *err) must_check;
/* Like cli_parse(), for a command that runs a program: the arguments of the
   program go to *rest. */
int cli_parse_program(const struct command *c, void *target, int argc,
		      char **argv, char ***rest,
		      struct remit_error *err) must_check;
/* Returns the command of this name, which may be a subcommand such as "packages
   list"; NULL if no command has it. */
const struct command *cli_find(const char *name);
/* Print to stderr what the output of the program does not show: denials, files,
   changes, and how it ended. `name` is the file name of the program, or NULL;
   `shown` may be NULL. */
void cli_explain_end(const struct remit_result *res,
		     const struct policy *policy, const char *name,
		     const struct run_displays *shown);
/* Print a warning to stderr if the tier of the policy has no wall. */
void cli_warn(const struct policy *p);

/* True if only a private keeper can run this policy. */
bool cli_needs_private(const struct policy *p);

/* Query the status of the shared keeper. Its socket's path goes to `path`. */
int cli_query_keeper(json_t **out, char *path, size_t size,
		     struct remit_error *err) must_check;

/* Build the complete policy from the flags of a command line. */
int cli_policy(const struct flags *fl, struct policy *out,
	       struct remit_error *err) must_check;
/* The same, but displays are off unless the flags switch them on. */
int cli_policy_quiet(const struct flags *fl, struct policy *out,
		     struct remit_error *err) must_check;

#endif
