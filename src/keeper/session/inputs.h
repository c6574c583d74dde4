/*
 * inputs: files that a client sends along with its job. They are kept as the
 * frames that the jail will get: the runner writes them, in its workspace and
 * within its limits.
 */
#ifndef REMIT_INPUTS_H
#define REMIT_INPUTS_H

#include "base/list.h"
#include "policy/plan/plan.h"
#include "wire/link.h"

#define INPUTS_MAX 1000

struct inputs {
	struct buf frames;
	struct list paths; /* relative to the workspace */
	uint64_t missing;  /* bytes of the last file that are to come */
	uint64_t total_bytes;
	uint64_t largest_bytes;
	uint64_t pages_bytes; /* what they take of a file system of pages */
};

#define INPUTS_INIT { .frames = BUF_INIT((size_t)1200 * 1024 * 1024) }

/* From the payloads of "file" and "file_data"; refuses what is longer than
   `max_bytes` in all. */
int inputs_begin(struct inputs *in, const char *payload, size_t len,
		 uint64_t max_bytes, struct remit_error *err) must_check;
int inputs_add(struct inputs *in, const char *bytes, size_t len,
	       struct remit_error *err) must_check;
/* All are whole, and there is room for them in a jail of this plan. */
int inputs_check(const struct inputs *in, const struct plan *plan,
		 struct remit_error *err) must_check;
/* Hands them over. */
int inputs_send(struct inputs *in, struct link *jail,
		struct remit_error *err) must_check;
void inputs_free(struct inputs *in);

#endif
