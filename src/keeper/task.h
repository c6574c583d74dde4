/*
 * task: what the runner in the jail needs besides the code, as records.
 */
#ifndef REMIT_TASK_H
#define REMIT_TASK_H

#include "buf.h"
#include "plan.h"

struct task_job {
	const char *name;
	const struct list *argv;
	size_t code_len;
};

int task_write(struct buf *out, const struct plan *plan,
	       const struct task_job *job, struct remit_error *err) must_check;

#endif
