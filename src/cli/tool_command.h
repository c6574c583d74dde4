/*
 * tool_command: local commands that answer tool calls, from the command line.
 *
 * The shell starts the command for each call, with the caller's rights and
 * environment; several calls may run at once. The command reads the arguments
 * as JSON from standard input, or only the text if the only argument is called
 * `text`. Its output is the result. It is killed when the run ends.
 */
#ifndef REMIT_TOOL_COMMAND_H
#define REMIT_TOOL_COMMAND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/fields/options.h"

/* Counts the threads that wait for commands. */
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
	bool is_json;	  /* its output is JSON, not text */
	enum remit_approval approval;
	struct tool_crew *crew;
};

struct tool_options {
	struct tool_command *commands;
	size_t count;
	struct tool_crew crew;	  /* the threads of running calls */
	struct remit_tool *tools; /* made by tool_options_list() */
};

/* The option --tool and those that belong to it. Their target is a struct
   tool_options. */
extern const struct option tool_option_rows[];

/* Make o->tools for the library. It is valid until the options change. */
int tool_options_list(struct tool_options *o,
		      struct remit_error *err) must_check;
void tool_options_free(struct tool_options *o);

#endif
