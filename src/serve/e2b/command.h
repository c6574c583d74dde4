/*
 * e2b_command: a command of a sandbox. It is a cell that starts a program and
 * waits for it: it has its turn with the others, the limits of a cell, and the
 * number of the cell for a pid. It lives on when nobody hears it any more, and
 * others may begin to.
 */
#ifndef REMIT_E2B_COMMAND_H
#define REMIT_E2B_COMMAND_H

#include "serve/e2b/part.h"

/* Who hears one command at once. */
#define COMMAND_SUBSCRIBERS_MAX 8

struct command;

/* The message of a request that starts one: {"process", "stdin", "tag"}. The
   request hears it. */
void command_start(struct exchange *x, struct sandbox *sb, json_t *message);
/* From now on the request hears one that is there. */
void command_connect(struct exchange *x, struct sandbox *sb,
		     const json_t *selector);

/* Those that run or wait, as envd lists them. */
json_t *command_list(struct e2b *e, struct sandbox *sb);
/* The cell of one; 0: there is none. */
uint64_t command_find(struct e2b *e, struct sandbox *sb,
		      const json_t *selector);
/* Whatever the signal is: the cell is interrupted, and kills its program; or it
   does not begin. */
void command_signal(struct e2b *e, struct sandbox *sb, uint64_t cell);
/* A descriptor of the caller's own that writes what the command reads; -1: it
   reads nothing (any more). */
int command_input(struct e2b *e, struct sandbox *sb, uint64_t cell);
/* There is no more to read for it. */
void command_close_input(struct e2b *e, struct sandbox *sb, uint64_t cell);

#endif
