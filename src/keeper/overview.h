/*
 * overview: what a keeper is doing, as one JSON object for `remit status`. It
 * includes the journal: how the most recent runs ended and what they used, in
 * memory only. It has no code, no output and no arguments.
 */
#ifndef REMIT_OVERVIEW_H
#define REMIT_OVERVIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "policy/policy.h"
#include "wire/result.h"

struct keeper;

#define JOURNAL_RUNS 256

struct journal_run {
	char id[24];
	int64_t ended_ms; /* since 1970 */
	enum tier tier;
	enum status status;
	bool warm;
	uint64_t code_bytes;
	uint64_t wall_us; /* 0: the code did not start */
	uint64_t cpu_us;
};

struct journal {
	struct journal_run runs[JOURNAL_RUNS]; /* a ring buffer */
	uint64_t count; /* of all runs since the keeper started */
};

void journal_add(struct journal *j, const struct journal_run *run);
/* Lists the oldest run first. */
json_t *journal_to_json(const struct journal *j);

/* Returns -1 if memory is short or the object is too long. */
int overview_write(struct buf *out, const struct keeper *k) must_check;

#endif
