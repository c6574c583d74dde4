/*
 * plan_part: what the parts of a plan's making know of each other: the fields
 * in general (plan.c), and folders of the host (plan_folders.c). For these
 * files only.
 */
#ifndef REMIT_PLAN_PART_H
#define REMIT_PLAN_PART_H

#include "plan.h"

struct decision {
	struct plan *plan;
	const struct policy *policy;
	const struct host *host;
	const struct field *field;
	struct plan_row *row;
};

typedef int decide_fn(struct decision *d, struct remit_error *err);

/* Note a mechanism in the row; false if the tier has it not. */
bool plan_note_kept(struct decision *d, uint64_t mechanism);

static inline bool
is_bare(const struct decision *d)
{
	return tiers[d->plan->tier].bare;
}

decide_fn decide_read_roots;
decide_fn decide_write_roots;
decide_fn decide_mounts;
decide_fn decide_commit_names;

#endif
