/*
 * oneshot: one request that is one program, of a API that says in its own
 * words what came of it.
 */
#ifndef REMIT_ONESHOT_H
#define REMIT_ONESHOT_H

#include "base/buf.h"
#include "serve/exchange.h"

/* How a API answers. */
struct oneshot_form {
	/* A result; *status is 200. `output`: both streams as they came. */
	json_t *(*answer)(const struct exchange *x, const json_t *result,
			  const struct buf *output, int *status);
	/* There is none, and why. */
	json_t *(*blame)(const char *message);
	bool has_value; /* the result with its "value" */
};

/* Runs a document of the native API, which it takes, and replies. timeout_ms:
   0, or less time than the policy has. */
void oneshot_run(struct exchange *x, json_t *doc, uint64_t timeout_ms,
		 const struct oneshot_form *form);

/* A member that is a text, or "". */
const char *oneshot_text(const json_t *object, const char *name);

#endif
