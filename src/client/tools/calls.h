/*
 * tool_calls: the tool calls of one run. A call is assembled from frames,
 * checked against the schema of its tool, approved by the user if the tool
 * requires it, and passed to the tool. Answers are sent as they arrive.
 */
#ifndef REMIT_TOOL_CALLS_H
#define REMIT_TOOL_CALLS_H

#include "client/tools/hub.h"

/* Calls that the result lists; more are counted. */
#define TOOL_CALLS_LISTED 200

struct tool_calls {
	const struct tools *tools;
	enum remit_answer (*on_question)(void *user,
					 const struct remit_question *q);
	void *user;
	struct tool_hub *hub; /* NULL: the run has no tools */
	/* The user's decision for the whole run, for each tool. */
	enum remit_answer *decisions; /* REMIT_ALLOW_ONCE: none yet */
	/* The call that is arriving. */
	uint64_t id, missing;
	char name[TOOL_NAME_SIZE];
	struct buf arguments;
	/* The list of calls for the result. */
	json_t *list;
	uint64_t last_listed, left_out;
};

#define TOOL_CALLS_INIT { .arguments = BUF_INIT(TOOL_ANSWER_MAX) }

/* Prepare for a run. The calling thread must be the one that waits for the
   run. */
int tool_calls_open(struct tool_calls *c, const struct tools *tools,
		    const struct remit_job *job,
		    struct remit_error *err) must_check;
/* Returns a descriptor to poll for reading, or -1. */
int tool_calls_fd(const struct tool_calls *c);
/* Receive a frame "call" or "call_data". */
int tool_calls_receive(struct tool_calls *c, const struct frame *f,
		       struct remit_error *err) must_check;
/* Send all answers so far. */
int tool_calls_flush(struct tool_calls *c, struct link *l,
		     struct remit_error *err) must_check;
/* Add the list of calls to a result. `c` may be NULL. */
int tool_calls_report(struct tool_calls *c, json_t *result,
		      struct remit_error *err) must_check;
/* Call this when the run has ended. Later answers have no effect. */
void tool_calls_free(struct tool_calls *c);

#endif
