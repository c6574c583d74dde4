/*
 * trial: a policy, a host and a job, of which each test changes something, and
 * the resulting plan.
 */
#ifndef REMIT_TEST_TRIAL_H
#define REMIT_TEST_TRIAL_H

#include "policy/plan/plan.h"

#define MIB (UINT64_C(1) << 20)

struct trial {
	struct policy policy;
	struct host host;
	struct plan_job job;
	struct plan plan;
	struct remit_error err;
};

/* The interpreter of every trial. */
extern const struct interpreter python;

/* The default policy on a host with everything, started by a user. */
struct trial ordinary(void);
void trial_free(struct trial *t);

void set(struct trial *t, const char *name, const char *text);
void take_away(struct trial *t, enum capability c);

int build(struct trial *t);
void accepted(struct trial *t);
/* Checks that the plan is refused because of this field, with these words in
   the reason, and a remedy. */
void refused(struct trial *t, const char *where, const char *words);

const struct plan_row *row(const struct trial *t, enum field_id f);
/* Checks that a field is enforced by exactly these mechanisms. */
void kept_by(const struct trial *t, enum field_id f, uint64_t wanted);
void granted(const struct trial *t, enum field_id f);

/* RLIMIT_CPU in whole seconds: one above the limit, rounded up. */
bool is_one_second_above(uint64_t seconds, uint64_t ms);

#endif
