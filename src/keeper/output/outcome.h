/*
 * outcome: how a run ended. Facts of the kernel first, claims of the process
 * only where no fact speaks.
 */
#ifndef REMIT_OUTCOME_H
#define REMIT_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "keeper/output/claim.h"
#include "wire/result.h"

struct facts {
	bool has_wait_status; /* of the code, from pid 1's wait */
	int wait_status;
	bool init_died; /* pid 1 itself was killed */
	/* what the keeper did */
	bool timed_out;
	bool over_ceiling;
	bool interrupted;
	bool over_cpu;
	/* what the groups and clocks say */
	uint64_t oom_kills;
	uint64_t cpu_us;
	uint64_t cpu_limit_ms; /* 0: none */
	bool checked_only;     /* the static tier: nothing was to run */
	bool closed;	       /* the last cell, which has no code */
};

struct outcome {
	enum status status;
	bool has_exit_code;
	int exit_code;
	bool exit_code_is_claim; /* the process has not exited yet */
	int signal;		 /* 0: none */
	bool status_is_claim;
};

void outcome_decide(struct outcome *out, const struct facts *f,
		    const struct claim *c);

#endif
