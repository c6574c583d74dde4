/*
 * oneshot: runs one program for one request of an API with its own format of
 * results. The APIs of other services that consist of such requests:
 *
 *	POST /			{"code": "..."}, the simplest of all
 *	POST /run_code		SandboxFusion's (fusion.c)
 *	POST /run_jupyter	likewise: a notebook with several cells
 *	POST /api/v2/execute	Piston's (piston.c)
 *	GET /api/v2/runtimes	likewise
 */
#ifndef REMIT_ONESHOT_H
#define REMIT_ONESHOT_H

#include "base/buf.h"
#include "serve/auth/keys.h"
#include "serve/exchange.h"

/* The format of an API's replies. */
struct oneshot_form {
	/* Converts a result. *status is preset to 200. `output` has both
	   streams in the order in which they arrived. */
	json_t *(*answer)(const struct exchange *x, const json_t *result,
			  const struct buf *output, int *status);
	/* Converts an error. */
	json_t *(*failure)(const char *message);
	bool has_value; /* include "value" in the result */
};

/* Runs a document of the native API, takes ownership of it, and replies.
   timeout_ms: 0, or less than the timeout of the policy. */
void oneshot_run(struct exchange *x, json_t *doc, uint64_t timeout_ms,
		 const struct oneshot_form *form);

/* Returns a member if it is a string, otherwise "". */
const char *oneshot_text(const json_t *object, const char *name);

extern const struct route small_api_routes[], fusion_routes[], piston_routes[];

/* Determines the interpreter of each key for clients of Piston. It may fork, so
   call it while there is only one thread. */
void piston_find_pythons(struct keys *k);

#endif
