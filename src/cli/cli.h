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
	/* What a second word chooses; NULL-terminated. Without a word it is
	   the first one. */
	const struct command *const *verbs;
};

/* The commands' rows, each in the file of the command. */
extern const struct command command_run, command_repl, command_check,
	command_batch, command_policy, command_explain, command_matrix,
	command_doctor, command_bench, command_keeper, command_completion,
	command_man, command_logs, command_packages, command_proxy_launcher,
	command_status, command_instructions, command_serve, command_mcp;
extern const struct command *const commands[]; /* NULL-terminated */

/* Exit code of remit itself for an error of the caller. */
#define CLI_MISUSE EXIT_MISUSE
/* For what Remit refuses, or cannot do. */
#define CLI_FAILED EXIT_REFUSED

/* Print "remit: message" and the remedy to stderr; returns CLI_FAILED, or
   CLI_MISUSE for REMIT_E_INPUT. */
int cli_error(const struct remit_error *err);
/* Read a command line into *target, as options_parse() does. */
int cli_parse(const struct command *c, void *target, int argc, char **argv,
	      struct remit_error *err) must_check;
/* The same for a command whose program has arguments: they go to *rest. */
int cli_parse_program(const struct command *c, void *target, int argc,
		      char **argv, char ***rest,
		      struct remit_error *err) must_check;
/* The command with this name, also "packages list"; NULL if there is none. */
const struct command *cli_find(const char *name);
/* Say on stderr what the output of the program, of this name or NULL, does not;
   `shown` may be NULL. */
void cli_explain_end(const struct remit_result *res,
		     const struct policy *policy, const char *name,
		     const struct run_displays *shown);
/* Say on stderr what nobody should do without knowing it. */
void cli_warn(const struct policy *p);

/* No shared keeper can do what this policy says. */
bool cli_needs_private(const struct policy *p);

/* What the shared keeper says of itself, and where it is. */
int cli_query_keeper(json_t **out, char *path, size_t size,
		     struct remit_error *err) must_check;

/* The caller's policy from flags, complete. */
int cli_policy(const struct flags *fl, struct policy *out,
	       struct remit_error *err) must_check;

#endif
