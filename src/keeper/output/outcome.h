/*
 * outcome: how a run ended. Facts of the kernel come first; claims of the
 * process count only where there is no fact.
 */
#ifndef REMIT_OUTCOME_H
#define REMIT_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "keeper/output/claim.h"
#include "wire/result.h"

struct facts {
	bool has_wait_status; /* of the code, as pid 1 reported it */
	int wait_status;
	bool init_died; /* pid 1 itself was killed */
	/* actions of the keeper */
	bool timed_out;
	bool over_ceiling;
	bool interrupted;
	bool over_cpu;
	/* from cgroups and clocks */
	uint64_t oom_kills;
	uint64_t cpu_us;
	uint64_t cpu_limit_ms; /* 0: no limit */
	bool checked_only;     /* the static tier: the code was only checked */
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
