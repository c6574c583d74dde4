/*
 * e2b_result: what a cell shows and how it ends, as lines that clients of E2B
 * understand. Lines of other types they leave aside.
 */
#ifndef REMIT_E2B_RESULT_H
#define REMIT_E2B_RESULT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

/* {"type": "result", "text": ..., "png": ...}; NULL without memory. */
json_t *e2b_result_line(const struct remit_display *d);
/* {"type": "error", ...}; NULL: it ended well. */
json_t *e2b_error_line(const json_t *result);
/* {"type": "remit", ...}: status, usage, denials and, if asked for, what the
   policy is kept by. */
json_t *e2b_remit_line(const struct remit_result *res, bool enforcement);
/* {"type": "stdout" | "stderr", "text": ..., "timestamp": ...} */
json_t *e2b_output_line(enum remit_stream stream, const char *bytes,
			size_t len);

#endif
