/*
 * tool_command: a local command that answers tool calls.
 *
 * It runs by the shell, with the caller's rights and environment, for each call
 * anew and beside others. Its standard input is the arguments as JSON; or the
 * text itself, if the only one is called `text`. What it writes is the result.
 * It dies with the run.
 */
#ifndef REMIT_TOOL_COMMAND_H
#define REMIT_TOOL_COMMAND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

/* The threads that wait for commands. */
struct tool_crew {
	pthread_mutex_t lock;
	pthread_cond_t left;
	size_t at_work;
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

void tool_crew_open(struct tool_crew *crew);
/* When all are gone: after the run, at once. */
void tool_crew_free(struct tool_crew *crew);

/* As struct remit_tool wants it; `user` is a struct tool_command. */
void tool_command_call(void *user, struct remit_tool_call *call,
		       const char *arguments, size_t len);

#endif
