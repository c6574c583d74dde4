/*
 * e2b_result: converts displays and results of a cell to lines that clients of
 * E2B understand. They ignore lines of other types.
 */
#ifndef REMIT_E2B_RESULT_H
#define REMIT_E2B_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

/* Returns {"type": "result", "text": ..., "png": ...}, or NULL if memory is
   exhausted. */
json_t *e2b_result_line(const struct remit_display *d);
/* Returns {"type": "error", ...}, or NULL after a success. */
json_t *e2b_error_line(const json_t *result);
/* Returns {"type": "remit", ...} with status, usage, denials and, if
   `enforcement`, the mechanisms that enforce the policy. */
json_t *e2b_remit_line(const struct remit_result *res, bool enforcement);
/* Returns {"type": "stdout" | "stderr", "text": ..., "timestamp": ...}. */
json_t *e2b_output_line(enum remit_stream stream, const char *bytes,
			size_t len);

#endif
