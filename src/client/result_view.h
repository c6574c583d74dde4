/*
 * result_view: a result as it arrives, and the one place where its document is
 * built: from the keeper's facts and claims, the plan's enforcement, and what
 * the library itself received, called and wrote.
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
/* The rows of the plan: a JSON list. */
int result_view_enforce(struct remit_result *r, const char *json, size_t len,
			struct remit_error *err) must_check;

/* What a run has received besides output and enforcement; NULL: it asked for
   none of that kind. */
struct result_parts {
	struct displays *displays;
	struct tool_calls *calls;
	struct artifacts *artifacts;
};

/*
 * Builds the document, with the keeper's members from the frame "result". If a
 * member is missing, of another type or unknown, or if there was no enforcement
 * before, this breaks the protocol, and there is no result.
 */
int result_view_finish(struct remit_result *r, const char *json, size_t len,
		       const struct result_parts *parts,
		       struct remit_error *err) must_check;
/* A result of a job that no keeper has seen. NULL without memory. */
struct remit_result *result_view_of_error(enum status status,
					  const struct remit_error *why);
/* Of its output, and of the JSON of what was shown. */
void result_view_bytes(const struct remit_result *r, uint64_t *output,
		       uint64_t *shown);
/* The document, once it is finished; the result's own. It lacks what the code
   or the plan made long: value, displays and enforcement. */
json_t *result_view_document(const struct remit_result *r);
/* These, as new references; NULL without memory. Not exact: integers of the
   code have more than 64 bits, and became reals. */
json_t *result_view_value(const struct remit_result *r, bool *exact);
json_t *result_view_enforcement(const struct remit_result *r);

/* What the caller calls the run: the first members of its text. */
struct result_heading {
	const char *id;	  /* JSON */
	const char *line; /* JSON, or NULL */
};

/* The text of remit_result_json() behind a heading (NULL: none), in a new
   buffer. -1: no memory. */
int result_view_write(const struct remit_result *r,
		      const struct result_heading *heading,
		      struct buf *out) must_check;
bool result_view_is_done(const struct remit_result *r);
/* A shared keeper refused what a private one can do. */
bool result_view_is_elsewhere(const struct remit_result *r);
/* Its error as one of the library's; returns -1. */
int result_view_to_error(const struct remit_result *r, struct remit_error *err);

#endif
