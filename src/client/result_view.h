/*
 * result_view: collects the parts of a result and builds its document. This is
 * the only place where the document is built: from the keeper's facts and
 * claims, the plan's enforcement, and the displays, calls and files that the
 * library handled.
 */
#ifndef REMIT_RESULT_VIEW_H
#define REMIT_RESULT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/result.h"

struct artifacts;
struct displays;
struct tool_calls;

struct remit_result *result_view_new(struct remit_error *err);
int result_view_add(struct remit_result *r, enum remit_stream stream,
		    const char *bytes, size_t len,
		    struct remit_error *err) must_check;
/* Set the enforcement: the rows of the plan, a JSON list. */
int result_view_enforce(struct remit_result *r, const char *json, size_t len,
			struct remit_error *err) must_check;

/* The parts of a run besides output and enforcement. NULL: the run could have
   none. */
struct result_parts {
	struct displays *displays;
	struct tool_calls *calls;
	struct artifacts *artifacts;
};

/*
 * Build the document. `json` has the keeper's members, from the frame "result".
 * Fails with REMIT_E_PROTOCOL if a member is missing, unknown or of the wrong
 * type, or if no enforcement was set.
 */
int result_view_finish(struct remit_result *r, const char *json, size_t len,
		       const struct result_parts *parts,
		       struct remit_error *err) must_check;
/* Returns the result of a job that no keeper has received; NULL without
   memory. */
struct remit_result *result_view_of_error(enum status status,
					  const struct remit_error *why);
/* Get the sizes of the output, and of the JSON of value and displays. */
void result_view_bytes(const struct remit_result *r, uint64_t *output,
		       uint64_t *shown);
/* Returns the finished document, a borrowed reference. It lacks the members
   that may be long: value, displays and enforcement. */
json_t *result_view_document(const struct remit_result *r);
/* Return these members as new references; NULL without memory. *exact is false
   if integers of the code exceed 64 bits and became reals. */
json_t *result_view_value(const struct remit_result *r, bool *exact);
json_t *result_view_enforcement(const struct remit_result *r);

/* The caller's name for the run: the first members of the text. */
struct result_heading {
	const char *id;	  /* JSON */
	const char *line; /* JSON, or NULL */
};

/* Write the text of remit_result_json() with a heading (or NULL) into a new
   buffer. Returns -1 without memory. */
int result_view_write(const struct remit_result *r,
		      const struct result_heading *heading,
		      struct buf *out) must_check;
bool result_view_is_done(const struct remit_result *r);
/* Returns true if a shared keeper refused a policy that a private one can
   run. */
bool result_view_is_elsewhere(const struct remit_result *r);
/* Convert the result's error into *err. Returns -1. */
int result_view_to_error(const struct remit_result *r, struct remit_error *err);

#endif
