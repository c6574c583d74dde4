/*
 * tool_options: local commands as tools (tool_command.h), from the command
 * line.
 */
#ifndef REMIT_TOOL_OPTIONS_H
#define REMIT_TOOL_OPTIONS_H

#include "cli/tool_command.h"
#include "policy/fields/options.h"

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
