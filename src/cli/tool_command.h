/*
 * tool_command: local commands that answer tool calls, from the command line.
 *
 * A command runs by the shell, with the caller's rights and environment, for
 * each call anew and beside others. Its standard input is the arguments as
 * JSON; or the text itself, if the only one is called `text`. What it writes is
 * the result. It dies with the run.
 */
#ifndef REMIT_TOOL_COMMAND_H
#define REMIT_TOOL_COMMAND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/fields/options.h"

/* The threads that wait for commands. */
struct tool_crew {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	size_t running;
};

struct tool_command {
	char *name;
	const char *command;
	const char *help; /* or NULL */
	char *schema;	  /* or NULL */
	bool is_json;	  /* its output is; else it is text */
	enum remit_approval approval;
	struct tool_crew *crew;
};

struct tool_options {
	struct tool_command *commands;
	size_t count;
	struct tool_crew crew;	  /* those at work */
	struct remit_tool *tools; /* made by tool_options_list() */
};

/* Rows whose target is a struct tool_options: --tool and what belongs to it. */
extern const struct option tool_option_rows[];

/* As the library wants them; valid until the options change. */
int tool_options_list(struct tool_options *o,
		      struct remit_error *err) must_check;
void tool_options_free(struct tool_options *o);

#endif
