/*
 * tool_options: local commands as tools, from the command line:
 *
 *	--tool NAME=COMMAND		a shell command; tool_command.h
 *	--tool-help NAME=TEXT		what it does, for the model
 *	--tool-schema NAME=FILE		a JSON Schema of its arguments
 *	--tool-result NAME=text|json	what its output is
 *	--tool-approval NAME=never|first|always
 */
#ifndef REMIT_TOOL_OPTIONS_H
#define REMIT_TOOL_OPTIONS_H

#include "tool_command.h"

struct tool_options {
	struct tool_command *commands;
	size_t count;
	struct tool_crew crew;	  /* those at work */
	struct remit_tool *tools; /* made by tool_options_list() */
};

/* True if it is one of these, and takes a value. */
bool tool_options_has(const char *flag);
int tool_options_set(struct tool_options *o, const char *flag, const char *text,
		     struct remit_error *err) must_check;
/* As the library wants them; valid until the options change. */
int tool_options_list(struct tool_options *o,
		      struct remit_error *err) must_check;
void tool_options_free(struct tool_options *o);

#endif
