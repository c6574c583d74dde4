/*
 * batch_result: one line of results: what `remit run --json` prints, with the
 * job's id before it.
 */
#ifndef REMIT_BATCH_RESULT_H
#define REMIT_BATCH_RESULT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/result.h"

struct batch_result {
	struct buf line; /* with its newline */
	enum status status;
	bool is_good;	 /* `remit run` would have exited with 0 */
	char *directory; /* of its artifacts, or NULL */
};

/* Of a run. */
int batch_result_of_run(struct batch_result *out, const char *id,
			const struct remit_result *res,
			struct remit_error *err) must_check;
/* Of what had no run: refused if the job was wrong, else internal. `line` is
   put beside the id unless it is 0. */
int batch_result_of_error(struct batch_result *out, const char *id,
			  uint64_t line, const struct remit_error *why,
			  struct remit_error *err) must_check;
void batch_result_free(struct batch_result *r);

#endif
