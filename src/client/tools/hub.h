/*
 * tool_hub: where answers to tool calls meet the run that waits for them.
 *
 * A tool may answer a call from any thread and at any time, even after the run
 * has ended. The run and each unanswered call therefore own a reference to the
 * hub, and the last of them frees it.
 */
#ifndef REMIT_TOOL_HUB_H
#define REMIT_TOOL_HUB_H

#include <stdint.h>

#include "client/tools/tools.h"

/* The largest value of the field tool_bytes. */
#define TOOL_ANSWER_MAX ((size_t)64 * 1024 * 1024)

struct tool_answer {
	struct tool_answer *next;
	uint64_t id;
	const char *outcome; /* "ok", "error", "denied" */
	char *text;	     /* NUL-terminated */
	size_t len;	     /* never 0 */
};

struct tool_hub;

/* Create the hub for the run that the calling thread waits for. */
struct tool_hub *tool_hub_new(struct remit_error *err);
/* Returns a descriptor that is readable when another thread has answered. */
int tool_hub_fd(const struct tool_hub *h);
/* Returns all answers so far, in their order, or NULL. The caller frees
   each. */
struct tool_answer *tool_hub_pop_all(struct tool_hub *h);
/* Register a call that a tool will answer. Returns NULL without memory. */
struct remit_tool_call *tool_hub_call(struct tool_hub *h, uint64_t id,
				      const char *name);
/* Add an answer of the library itself. */
void tool_hub_answer(struct tool_hub *h, uint64_t id, const char *outcome,
		     const char *text);
/* Call this when the run has ended. Later answers have no effect. */
void tool_hub_end(struct tool_hub *h);

#endif
