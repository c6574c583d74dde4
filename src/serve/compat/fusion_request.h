/*
 * fusion_request: converts requests of SandboxFusion's clients to requests of
 * the native API.
 */
#ifndef REMIT_FUSION_REQUEST_H
#define REMIT_FUSION_REQUEST_H

#include <jansson.h>

#include "serve/auth/keys.h"

/* The maximum number of names in fetch_files. */
#define FUSION_FETCH_MAX 256

/* Returns the run as a new document and its timeout, or NULL with an error. */
json_t *fusion_read_code(const json_t *body, const struct key *key,
			 uint64_t *timeout_ms, struct remit_error *err);

struct fusion_notebook {
	json_t *session; /* documents of the native API: the session, */
	json_t *first;	 /* and its first cell, with the files */
	uint64_t total_ms;
	uint64_t cell_ms; /* 0: the policy's timeout */
};

/* Returns -1 with an error; then there is nothing to free. */
int fusion_read_notebook(struct fusion_notebook *out, const json_t *body,
			 const struct key *key,
			 struct remit_error *err) must_check;
void fusion_notebook_free(struct fusion_notebook *n);

/* Returns a cell of a notebook, or NULL if memory is exhausted. */
json_t *fusion_cell(json_t *code, const struct key *key);

#endif
