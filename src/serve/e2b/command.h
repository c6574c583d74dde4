/*
 * e2b_command: a command of a sandbox: a program that runs beside its cells
 * (keeper/session/commands.h), within the limits of a cell. It continues when
 * all clients have disconnected, and clients may connect to it later.
 */
#ifndef REMIT_E2B_COMMAND_H
#define REMIT_E2B_COMMAND_H

#include "serve/e2b/part.h"

/* How many requests may receive the events of one command. */
#define COMMAND_SUBSCRIBERS_MAX 8

struct command;

/* Starts the command in the message {"process", "stdin", "tag", "pty"}. The
   request receives its events. */
void command_start(struct exchange *x, struct sandbox *sb, json_t *message);
/* Sends the events of a running command to this request too. */
void command_connect(struct exchange *x, struct sandbox *sb,
		     const json_t *selector);

/* Lists the running commands as envd does. */
json_t *command_list(struct e2b *e, struct sandbox *sb);
/* Returns the id of a command in its hosted session, or 0 if there is none. */
uint32_t command_find(struct e2b *e, struct sandbox *sb,
		      const json_t *selector);
bool command_has_terminal(struct e2b *e, struct sandbox *sb, uint32_t id);
/* Whether the input of a command is open. `closes`: it is closed from now
   on. */
bool command_reads(struct e2b *e, struct sandbox *sb, uint32_t id, bool closes);

#endif
