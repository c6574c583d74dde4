/*
 * matrix: for each tier and field, the mechanisms that enforce the field on
 * this host.
 */
#ifndef REMIT_MATRIX_H
#define REMIT_MATRIX_H

#include "policy/plan/plan.h"

struct matrix_column {
	bool built;
	bool refused;
	struct remit_error why;
	struct policy policy;
	struct interpreter interpreter; /* empty, but for the tier wasm */
	struct plan plan;
};

struct matrix {
	struct matrix_column columns[TIER_COUNT];
};

int matrix_find(struct matrix *m, struct remit_error *err) must_check;
/* Returns a row for each field and tier, or NULL if memory is exhausted. */
json_t *matrix_to_json(const struct matrix *m);
void matrix_free(struct matrix *m);

#endif
