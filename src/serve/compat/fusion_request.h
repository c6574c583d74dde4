/*
 * fusion_request: what clients of SandboxFusion ask for, as requests of the
 * native API.
 */
#ifndef REMIT_FUSION_REQUEST_H
#define REMIT_FUSION_REQUEST_H

#include <jansson.h>

#include "serve/auth/keys.h"

/* Names in fetch_files. */
#define FUSION_FETCH_MAX 256

/* A run as a new document, and its time. NULL: err says what is wrong. */
json_t *fusion_read_code(const json_t *body, const struct key *key,
			 uint64_t *timeout_ms, struct remit_error *err);

struct fusion_notebook {
	json_t *session; /* documents of the native API: the session, */
	json_t *first;	 /* and its first cell, with the files */
	uint64_t total_ms;
	uint64_t cell_ms; /* 0: as long as the policy lets it */
};

/* -1: err says what is wrong, and nothing is there to be freed. */
int fusion_read_notebook(struct fusion_notebook *out, const json_t *body,
			 const struct key *key,
			 struct remit_error *err) must_check;
void fusion_notebook_free(struct fusion_notebook *n);

/* A cell of it. NULL: no memory. */
json_t *fusion_cell(json_t *code);

#endif
