/*
 * inputs: files that a client sends with its job. They are stored as the frames
 * that the jail will receive. The runner writes them into its workspace, within
 * its limits.
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
	uint64_t missing; /* bytes of the last file that have not arrived yet */
	uint64_t total_bytes;
	uint64_t largest_bytes;
	uint64_t pages_bytes; /* their size on a file system, in whole pages */
};

#define INPUTS_INIT { .frames = BUF_INIT((size_t)1200 * 1024 * 1024) }

/* Handle the payloads of "file" and "file_data". Return -1 if a path is not in
   the policy's workspace, or if the files are longer than `max_bytes` in
   total. */
int inputs_begin(struct inputs *in, const struct policy *policy,
		 const char *payload, size_t len, uint64_t max_bytes,
		 struct remit_error *err) must_check;
int inputs_add(struct inputs *in, const char *bytes, size_t len,
	       struct remit_error *err) must_check;
/* Returns -1 if a file is incomplete, or if the files exceed a limit of the
   plan. */
int inputs_check(const struct inputs *in, const struct plan *plan,
		 struct remit_error *err) must_check;
/* Queues the frames for the jail and releases them here. */
int inputs_send(struct inputs *in, struct link *jail,
		struct remit_error *err) must_check;
void inputs_free(struct inputs *in);

#endif
