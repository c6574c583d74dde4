/*
 * e2b_command: commands of a sandbox, in the form of envd's service.
 */
#ifndef REMIT_E2B_COMMAND_H
#define REMIT_E2B_COMMAND_H

#include "serve/command.h"
#include "serve/e2b/part.h"

/* Starts the command in the message {"process", "stdin", "tag", "pty"}. The
   request receives its events. */
void e2b_command_start(struct exchange *x, struct sandbox *sb, json_t *message);
/* Sends the events of a running command to this request too. */
void e2b_command_connect(struct exchange *x, struct sandbox *sb,
			 const json_t *selector);

/* Lists the running commands as envd does. */
json_t *e2b_command_list(struct exchange *x, const struct sandbox *sb);
/* Finds the command that the selector means: {"pid"} or {"tag"}. */
bool e2b_command_find(struct exchange *x, const struct sandbox *sb,
		      const json_t *selector, struct command_view *out);

#endif
