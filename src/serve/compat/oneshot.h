/*
 * oneshot: one request that is one program, of an API that says in its own
 * words what came of it; and the APIs of other services that are made of such
 * requests:
 *
 *	POST /			{"code": "..."}, the simplest of all
 *	POST /run_code		SandboxFusion's (fusion.c)
 *	POST /run_jupyter	likewise: a notebook, which is several
 *	POST /api/v2/execute	Piston's (piston.c)
 *	GET /api/v2/runtimes	likewise
 */
#ifndef REMIT_ONESHOT_H
#define REMIT_ONESHOT_H

#include "base/buf.h"
#include "serve/auth/keys.h"
#include "serve/exchange.h"

/* How an API answers. */
struct oneshot_form {
	/* A result; *status is 200. `output`: both streams as they came. */
	json_t *(*answer)(const struct exchange *x, const json_t *result,
			  const struct buf *output, int *status);
	/* There is none, and why. */
	json_t *(*failure)(const char *message);
	bool has_value; /* the result with its "value" */
};

/* Runs a document of the native API, which it takes, and replies. timeout_ms:
   0, or less time than the policy has. */
void oneshot_run(struct exchange *x, json_t *doc, uint64_t timeout_ms,
		 const struct oneshot_form *form);

/* A member that is a text, or "". */
const char *oneshot_text(const json_t *object, const char *name);

extern const struct route small_api_routes[], fusion_routes[], piston_routes[];

/* What Piston's clients are told of each key's interpreter. Finding out may
   fork: to be called while there is one thread. */
void piston_find_pythons(struct keys *k);

#endif
