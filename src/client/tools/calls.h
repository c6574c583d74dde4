/*
 * tool_calls: the tool calls of one run. A call is put together from its
 * frames, checked against the schema of its tool, allowed by a person where
 * that is asked for, and handed to the tool; answers go back as they come.
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
	struct tool_hub *hub; /* NULL: there are no tools */
	/* What a person has said for the whole run, for each tool. */
	enum remit_answer *decisions; /* REMIT_ALLOW_ONCE: nothing yet */
	/* The call that comes. */
	uint64_t id, missing;
	char name[TOOL_NAME_SIZE];
	struct buf arguments;
	/* What was called, for the result. */
	json_t *list;
	uint64_t last_listed, left_out;
};

#define TOOL_CALLS_INIT { .arguments = BUF_INIT(TOOL_ANSWER_MAX) }

/* For the run that this thread will wait for. */
int tool_calls_open(struct tool_calls *c, const struct tools *tools,
		    const struct remit_job *job,
		    struct remit_error *err) must_check;
/* To be polled for reading; -1: none. */
int tool_calls_fd(const struct tool_calls *c);
/* Of the frames "call" and "call_data". */
int tool_calls_receive(struct tool_calls *c, const struct frame *f,
		       struct remit_error *err) must_check;
/* Send what is answered. */
int tool_calls_flush(struct tool_calls *c, struct link *l,
		     struct remit_error *err) must_check;
/* What was called, into a result. NULL: nothing could be. */
int tool_calls_report(struct tool_calls *c, json_t *result,
		      struct remit_error *err) must_check;
/* The run is over; what is answered later has no effect. */
void tool_calls_free(struct tool_calls *c);

#endif
