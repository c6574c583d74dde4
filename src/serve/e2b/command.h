/*
 * e2b_command: a command of a sandbox. It is a cell that starts a program and
 * waits for it, so it runs in turn with other cells, within the limits of a
 * cell, and the cell's number is its pid. It continues when all clients have
 * disconnected, and clients may connect to it later.
 */
#ifndef REMIT_E2B_COMMAND_H
#define REMIT_E2B_COMMAND_H

#include "serve/e2b/part.h"

/* How many requests may receive the events of one command. */
#define COMMAND_SUBSCRIBERS_MAX 8

struct command;

/* Starts the command in the message {"process", "stdin", "tag"}. The request
   receives its events. */
void command_start(struct exchange *x, struct sandbox *sb, json_t *message);
/* Sends the events of a running command to this request too. */
void command_connect(struct exchange *x, struct sandbox *sb,
		     const json_t *selector);

/* Lists the running and waiting commands as envd does. */
json_t *command_list(struct e2b *e, struct sandbox *sb);
/* Returns the cell of a command, or 0 if there is none. */
uint64_t command_find(struct e2b *e, struct sandbox *sb,
		      const json_t *selector);
/* Handles any signal: interrupts the cell, which kills its program, or prevents
   a waiting cell from starting. */
void command_signal(struct e2b *e, struct sandbox *sb, uint64_t cell);
/* Returns a new descriptor to write the command's input to, or -1 if it reads
   none (any more). */
int command_input(struct e2b *e, struct sandbox *sb, uint64_t cell);
/* Closes the command's input. */
void command_close_input(struct e2b *e, struct sandbox *sb, uint64_t cell);

#endif
