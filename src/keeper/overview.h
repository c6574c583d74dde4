/*
 * overview: what a keeper is doing, as one JSON object, for `remit status`; and
 * its journal: the last runs, in its memory only, how each ended and what it
 * used. No code, no output, no arguments.
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
	uint64_t wall_us; /* 0: it did not begin */
	uint64_t cpu_us;
};

struct journal {
	struct journal_run runs[JOURNAL_RUNS]; /* a ring */
	uint64_t count;			       /* of all that ever were */
};

void journal_add(struct journal *j, const struct journal_run *run);
/* The oldest first. */
json_t *journal_to_json(const struct journal *j);

/* -1: no memory, or too long. */
int overview_write(struct buf *out, const struct keeper *k) must_check;

#endif
