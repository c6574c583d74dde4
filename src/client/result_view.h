/*
 * result_view: a result as it arrives: output piece by piece, then the
 * keeper's document, then both as one.
 */
#ifndef REMIT_RESULT_VIEW_H
#define REMIT_RESULT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"

struct remit_result *result_view_new(struct remit_error *err);
int result_view_add(struct remit_result *r, enum remit_stream stream,
		    const char *bytes, size_t len,
		    struct remit_error *err) must_check;
/* The rows of the plan, as text. */
int result_view_enforce(struct remit_result *r, const char *json, size_t len,
			struct remit_error *err) must_check;
int result_view_finish(struct remit_result *r, const char *json, size_t len,
		       struct remit_error *err) must_check;
/* Takes `"value":...,"displays":[...]`; NULL is the end of memory. */
int result_view_show(struct remit_result *r, char *json,
		     struct remit_error *err) must_check;
/* Of its output, and of the JSON of what was shown. */
void result_view_bytes(const struct remit_result *r, uint64_t *output,
		       uint64_t *shown);
/* The document, once it is finished; the result's own. */
json_t *result_view_document(const struct remit_result *r);
/* The text of remit_result_json(), which becomes the caller's; NULL without
   memory. */
char *result_view_take_json(struct remit_result *r);
bool result_view_is_done(const struct remit_result *r);
/* A shared keeper refused what a private one can do. */
bool result_view_is_elsewhere(const struct remit_result *r);
/* Its error as one of the library's; returns -1. */
int result_view_blame(const struct remit_result *r, struct remit_error *err);

#endif
